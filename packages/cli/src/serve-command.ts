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
    .addOption(option("--listen <host:port>", "where to serve HTTP (default 127.0.0.1:7420)"))
    .addOption(option("--grpc <host:port>", "serve gRPC as well (default: not)"))
    .addOption(option("--store <url>", "where the state is kept (default embedded:./tenure-data)"))
    .addOption(option("--tls-cert <file>", "certificate, with --tls-key: serve HTTPS"))
    .addOption(option("--tls-key <file>", "its private key"))
    .addOption(option("--tls-client-ca <file>", "accept client certificates of this authority"))
    .addOption(
      option("--bundle <file>", "key, certificate and client authority in one (tenure ca issue server)"),
    )
    .addOption(option("--tls-min-version <version>", "oldest version of TLS, 1.2 or 1.3 (default 1.2)"))
    .addOption(
      option("--tls-ciphers <list>", "ciphers, as OpenSSL lists them (default: AEAD with forward secrecy)"),
    )
    .addOption(option("--tls-crl <file>", "refuse client certificates that these lists revoke"))
    .addOption(
      option(
        "--trust-domain <name>",
        "accept client certificates of this trust domain (default: that of the server's own certificate)",
      ),
    )
    .addOption(option("--jwt-jwks <url|file>", "accept JWTs signed by these keys"))
    .addOption(option("--jwt-issuer <iss>", "only of this issuer"))
    .addOption(option("--jwt-audience <aud>", "only for this audience"))
    .addOption(
      option("--jwt-max-age <seconds>", "refuse tokens that live longer, 0: no limit (default 86400)"),
    )
    .addOption(
      option("--jwt-key-refresh <seconds>", "fetch the keys of a URL again after this time (default 300)"),
    )
    .addOption(
      option(
        "--jwt-key-max-age <seconds>",
        "use fetched keys for this time while the URL does not answer, 0: no limit (default 86400)",
      ),
    )
    .addOption(option("--admin-token-file <file>", "accept the token in this file as an admin's"))
    .addOption(
      option(
        "--join <urls>",
        "take part in a cluster without a shared store: servers to begin with, by comma",
      ),
    )
    .addOption(
      option("--advertise <url>", "where other servers reach this one (default: https and --listen)"),
    )
    .addOption(
      option("--tc-ttl <ms>", "lease of the cluster's coordinator, the same at every server (default 5000)"),
    )
    .addOption(option("--signing-key <file>", "Ed25519 private key: sign each lease"))
    .addOption(option("--log-level <level>", "silent, error, warn, info or debug (default info)"))
    .addOption(option("--audit-log <file>", "append the audit log to this file (default: standard error)"))
    .addOption(option("--explicit-groups", "refuse groups that were not created first"))
    .addOption(option("--rate-limit <n>", "requests per second and caller, 0: no limit (default 1000)"))
    .addOption(option("--max-groups <n>", "groups that may exist at once (default 100000)"))
    .addOption(
      option("--max-groups-per-node <n>", "groups that one node may bring into existence (default 10000)"),
    )
    .addOption(
      option("--max-connections <n>", "connections open at once (default: by the limit of open files)"),
    )
    .addOption(option("--max-watches <n>", "watches open at once (default 50000)"))
    .addOption(option("--max-watches-per-caller <n>", "of one caller, admins excepted (default: half)"))
    .addOption(option("--max-waiting <n>", "waiting campaigns at once (default 50000)"))
    .addOption(option("--max-waiting-per-caller <n>", "of one caller, admins excepted (default: half)"))
    .addOption(
      option(
        "--allowed-hosts <names>",
        "comma-separated Host names to serve, or * (default: docs/HTTP.md, Who asks)",
      ),
    )
    .addOption(
      option("--insecure", "serve other machines without authentication, or with tokens in clear text"),
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
