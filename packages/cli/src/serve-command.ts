import { InvalidRequestError, TenureError } from "@tenure/core";
import type { GivenOptions } from "@tenure/server";
import { type Command, Option } from "commander";
import { EXIT } from "./exit-codes.js";
import { newCommand, withExamples } from "./frame/elector-command.js";
import type { Shell } from "./frame/shell.js";
import type { RunningServer } from "./peers/peer-server.js";

/** Those of the service, and those of a cluster. */
type ServeFlags = GivenOptions & {
  readonly join?: string | undefined;
  readonly advertise?: string | undefined;
  readonly tcTtl?: string | undefined;
};

const DEFAULT_TC_TTL = "5000";

/** Each option is also an environment variable: `--tls-cert` is `TENURE_TLS_CERT`. */
function option(flags: string, description: string): Option {
  const name = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  return new Option(flags, description).env(`TENURE_${name.toUpperCase().replaceAll("-", "_")}`);
}

export function serveCommand(shell: Shell): Command {
  const command = newCommand(shell, "serve", "Run the election service")
    .addOption(option("--listen <host:port>", "address of the HTTP API (default 127.0.0.1:7420)"))
    .addOption(option("--grpc <host:port>", "address of the gRPC API (default: no gRPC)"))
    .addOption(option("--store <url>", "store URL (default embedded:./tenure-data)"))
    .addOption(option("--tls-cert <file>", "server certificate; with --tls-key, serve HTTPS"))
    .addOption(option("--tls-key <file>", "private key of --tls-cert"))
    .addOption(option("--tls-client-ca <file>", "CA of the client certificates to accept"))
    .addOption(
      option(
        "--bundle <file>",
        "key, certificate and client CA in one file (made by tenure ca issue server)",
      ),
    )
    .addOption(option("--tls-min-version <version>", "minimum TLS version, 1.2 or 1.3 (default 1.2)"))
    .addOption(option("--tls-ciphers <list>", "OpenSSL cipher list (default: AEAD with forward secrecy)"))
    .addOption(option("--tls-crl <file>", "file with revocation lists of client certificates"))
    .addOption(
      option(
        "--trust-domain <name>",
        "accept client certificates of this trust domain (default: that of the server's own certificate)",
      ),
    )
    .addOption(option("--jwt-jwks <url|file>", "accept JWTs signed by these keys"))
    .addOption(option("--jwt-issuer <iss>", "accept only JWTs of this issuer"))
    .addOption(option("--jwt-audience <aud>", "accept only JWTs for this audience"))
    .addOption(
      option("--jwt-max-age <seconds>", "refuse JWTs with a longer lifetime, 0: no limit (default 86400)"),
    )
    .addOption(
      option("--jwt-key-refresh <seconds>", "refetch the keys of a URL after this time (default 300)"),
    )
    .addOption(
      option(
        "--jwt-key-max-age <seconds>",
        "keep using fetched keys for this time while the URL fails, 0: no limit (default 86400)",
      ),
    )
    .addOption(option("--admin-token-file <file>", "file with the admin token"))
    .addOption(
      option(
        "--join <urls>",
        "join a cluster without a shared store: comma-separated URLs of its first servers",
      ),
    )
    .addOption(
      option("--advertise <url>", "URL at which other servers reach this one (default: https and --listen)"),
    )
    .addOption(
      option(
        "--tc-ttl <ms>",
        "ttl of the cluster's coordinator; use the same value on every server (default 5000)",
      ),
    )
    .addOption(option("--signing-key <file>", "Ed25519 private key that signs mandates"))
    .addOption(option("--log-level <level>", "silent, error, warn, info or debug (default info)"))
    .addOption(option("--audit-log <file>", "append the audit log to this file (default: standard error)"))
    .addOption(option("--explicit-groups", "refuse campaigns for groups that were not created first"))
    .addOption(option("--rate-limit <n>", "requests per second per caller, 0: no limit (default 1000)"))
    .addOption(option("--max-groups <n>", "maximum number of groups (default 100000)"))
    .addOption(
      option(
        "--max-groups-per-node <n>",
        "maximum number of groups that one node may create (default 10000)",
      ),
    )
    .addOption(
      option(
        "--max-connections <n>",
        "maximum number of open connections (default: from the limit of open files)",
      ),
    )
    .addOption(option("--max-watches <n>", "maximum number of open watches (default 50000)"))
    .addOption(
      option("--max-watches-per-caller <n>", "open watches per caller, except admins (default: half)"),
    )
    .addOption(option("--max-waiting <n>", "maximum number of waiting campaigns (default 50000)"))
    .addOption(
      option("--max-waiting-per-caller <n>", "waiting campaigns per caller, except admins (default: half)"),
    )
    .addOption(
      option(
        "--allowed-hosts <names>",
        "comma-separated Host names to serve, or * (default: see docs/HTTP.md)",
      ),
    )
    .addOption(
      option("--insecure", "allow other machines without authentication, or with tokens in clear text"),
    )
    .action((given: ServeFlags) => serve(shell, given, command));
  return withExamples(
    command,
    "tenure serve",
    "tenure serve --listen 127.0.0.1:7420 --store postgres://tenure@db/tenure",
  );
}

/** What commander makes of the environment: any value of a switch is a yes to it, and no value is one. */
function readEnvironment(given: ServeFlags, command: Command): ServeFlags {
  const read: Record<string, unknown> = { ...given };
  for (const each of command.options) {
    const key = each.attributeName();
    if (command.getOptionValueSource(key) !== "env") continue;
    const text = process.env[each.envVar ?? ""] ?? "";
    if (each.isBoolean()) read[key] = readSwitch(text, each.name());
    else if (text === "") read[key] = undefined;
  }
  return read;
}

function readSwitch(text: string, field: string): boolean {
  if (["true", "1", "yes"].includes(text.toLowerCase())) return true;
  if (["false", "0", "no", ""].includes(text.toLowerCase())) return false;
  throw new InvalidRequestError(field, `is "${text}" in the environment and must be true or false`);
}

async function open({ join, advertise, tcTtl, ...given }: ServeFlags): Promise<RunningServer> {
  // Loaded when it is wanted: the other commands should answer at once.
  const { parseServerOptions, TenureServer } = await import("@tenure/server");
  const options = parseServerOptions(given);
  if (join !== undefined) {
    const { openPeerServer } = await import("./peers/peer-server.js");
    return openPeerServer(options, { join, advertise, ttlMs: Number(tcTtl ?? DEFAULT_TC_TTL) });
  }
  const orphan = advertise === undefined ? (tcTtl === undefined ? null : "tc-ttl") : "advertise";
  if (orphan !== null) throw new InvalidRequestError(orphan, "has no effect without join");
  const server = await TenureServer.open(options);
  return { server, close: () => server.close() };
}

async function serve(shell: Shell, given: ServeFlags, command: Command): Promise<void> {
  let running: RunningServer;
  try {
    running = await open(readEnvironment(given, command));
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    // What is wrong may also be in a file that an option names.
    const { field } = error as Partial<InvalidRequestError>;
    const isOption = command.options.some((each) => each.name() === field);
    shell.writeError(`tenure: ${isOption ? "--" : ""}${error.message}\n`);
    shell.exitCode = EXIT.wrongUse;
    return;
  }
  const { server } = running;
  const stop = (): void => {
    running.close().then(
      () => process.exit(EXIT.done),
      (error: unknown) => {
        shell.writeError(`tenure: ${String(error)}\n`);
        process.exit(EXIT.failed);
      },
    );
  };
  // Before it says that it is ready: whoever reads that may send a signal at once.
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  shell.write(`tenure listening on ${server.url} (store: ${server.storeName})\n`);
  if (server.grpcAddress !== null) shell.write(`tenure gRPC listening on ${server.grpcAddress}\n`);
}
