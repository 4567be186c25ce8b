/**
 * `tenure serve`: runs the election service until a signal stops it.
 *
 * Each option of the service (`TenureServerOptions`) is a flag and an environment variable here. This file declares the flags, turns
 * their text into the values that the service takes, and opens the service, or with `--join` a server of a cluster. A mistake
 * is one sentence on stderr that names the flag, and exit code 2.
 */
import { InvalidRequestError, TenureError } from "@tenure/core";
import type { TenureServerDeps, TenureServerOptions } from "@tenure/server";
import { type Command, Option } from "commander";
import { EXIT, type Shell } from "./frame/shell.js";
import { newCommand, withExamples } from "./frame/elector-command.js";
import type { RunningServer } from "./peers/peer-server.js";
import type { Report } from "./run/run-report.js";
import type { SystemdNotifier } from "./run/systemd-notifier.js";
import { logText } from "./serve/log-text.js";

/** Flags whose text is a whole number, and the options that they set. */
const NUMBERS = {
  jwtMaxAge: "jwtMaxAgeSeconds",
  jwtKeyRefresh: "jwtKeyRefreshSeconds",
  jwtKeyMaxAge: "jwtKeyMaxAgeSeconds",
  auditHeadInterval: "auditHeadSeconds",
  rateLimit: "rateLimit",
  maxGroups: "maxGroups",
  maxGroupsPerNode: "maxGroupsPerNode",
  maxConnections: "maxConnections",
  maxWatches: "maxWatches",
  maxWatchesPerCaller: "maxWatchesPerCaller",
  maxWaiting: "maxWaiting",
  maxWaitingPerCaller: "maxWaitingPerCaller",
} as const satisfies Readonly<Record<string, keyof TenureServerOptions>>;

type NumberFlag = keyof typeof NUMBERS;

/** The flags as commander reads them: text, or `true` for a switch. The service itself checks the text of enumerations. */
type ServeFlags = Omit<TenureServerOptions, (typeof NUMBERS)[NumberFlag] | "allowedHosts" | "webhooks"> & {
  readonly [Flag in NumberFlag | "allowedHosts" | "join" | "advertise" | "tcTtl" | "logFormat" | "port"]?:
    | string
    | undefined;
} & { readonly webhook?: readonly string[] | undefined };

const LOG_FORMATS = ["auto", "text", "json"];

const DEFAULT_TC_TTL = "5000";

/** The flags and their descriptions, in the order of `--help`. */
const FLAGS: readonly (readonly [flags: string, description: string])[] = [
  ["--listen <host:port>", "address of the HTTP API (default 127.0.0.1:7420)"],
  ["--grpc <host:port>", "address of the gRPC API (default: no gRPC)"],
  ["--store <url>", "store URL (default embedded:./tenure-data)"],
  ["--tls-cert <file>", "server certificate; with --tls-key, serve HTTPS"],
  ["--tls-key <file>", "private key of --tls-cert"],
  ["--tls-client-ca <file>", "CA of the client certificates to accept"],
  ["--bundle <file>", "key, certificate and client CA in one file (made by tenure ca issue server)"],
  ["--tls-min-version <version>", "minimum TLS version, 1.2 or 1.3 (default 1.2)"],
  ["--tls-ciphers <list>", "OpenSSL cipher list (default: AEAD with forward secrecy)"],
  ["--tls-crl <file>", "file with revocation lists of client certificates"],
  [
    "--trust-domain <name>",
    "accept client certificates of this trust domain (default: that of the server's own certificate)",
  ],
  ["--jwt-jwks <url|file>", "accept JWTs signed by these keys"],
  ["--jwt-issuer <iss>", "accept only JWTs of this issuer"],
  ["--jwt-audience <aud>", "accept only JWTs for this audience"],
  ["--jwt-max-age <seconds>", "refuse JWTs with a longer lifetime, 0: no limit (default 86400)"],
  ["--jwt-key-refresh <seconds>", "refetch the keys of a URL after this time (default 300)"],
  [
    "--jwt-key-max-age <seconds>",
    "keep using fetched keys for this time while the URL fails, 0: no limit (default 86400)",
  ],
  ["--admin-token-file <file>", "file with the admin token"],
  ["--join <urls>", "join a cluster without a shared store: comma-separated URLs of its first servers"],
  ["--advertise <url>", "URL at which other servers reach this one (default: https and --listen)"],
  ["--tc-ttl <ms>", "ttl of the cluster's coordinator; use the same value on every server (default 5000)"],
  ["--signing-key <file>", "Ed25519 private key that signs mandates"],
  ["--log-level <level>", "silent, error, warn, info or debug (default info)"],
  ["--log-format <format>", "auto, text or json (default auto: text on a terminal, otherwise JSON lines)"],
  ["--audit-log <file>", "append the audit log to this file, hash-chained (default: standard error)"],
  ["--audit-head-interval <seconds>", "log the head of the audit chain this often (default: never)"],
  ["--webhook <url...>", "send changes of leaders and findings to this URL; may be repeated"],
  ["--webhook-secret-file <file>", "file with the secret that signs webhooks"],
  ["--explicit-groups", "refuse campaigns for groups that were not created first"],
  ["--rate-limit <n>", "requests per second per caller, 0: no limit (default 1000)"],
  ["--max-groups <n>", "maximum number of groups (default 100000)"],
  ["--max-groups-per-node <n>", "maximum number of groups that one node may create (default 10000)"],
  ["--max-connections <n>", "maximum number of open connections (default: from the limit of open files)"],
  ["--max-watches <n>", "maximum number of open watches (default 50000)"],
  ["--max-watches-per-caller <n>", "open watches per caller, except admins (default: half)"],
  ["--max-waiting <n>", "maximum number of waiting campaigns (default 50000)"],
  ["--max-waiting-per-caller <n>", "waiting campaigns per caller, except admins (default: half)"],
  ["--allowed-hosts <names>", "comma-separated Host names to serve, or * (default: see docs/HTTP.md)"],
  ["--insecure", "allow other machines without authentication, or with tokens in clear text"],
];

/** Each option is also an environment variable: `--tls-cert` is `TENURE_TLS_CERT`. */
function option(flags: string, description: string): Option {
  const name = /--([a-z-]+)/.exec(flags)?.[1] ?? "";
  return new Option(flags, description).env(`TENURE_${name.toUpperCase().replaceAll("-", "_")}`);
}

export function serveCommand(shell: Shell): Command {
  const command = newCommand(shell, "serve", "Run the election service").action((given: ServeFlags) =>
    serve(shell, given, command),
  );
  for (const [flags, description] of FLAGS) command.addOption(option(flags, description));
  // Many servers have it. Taken only to say what to use instead.
  command.addOption(new Option("--port <port>").hideHelp());
  return withExamples(
    command,
    "tenure serve",
    "tenure serve --listen 127.0.0.1:7420 --store postgres://tenure@db/tenure",
  );
}

/** The flags with the environment read as we mean it: for commander any value turns a switch on, and an empty text is a value. */
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

function readOptions({ allowedHosts, webhook, ...flags }: ServeFlags): TenureServerOptions {
  const options: Record<string, unknown> = {
    // The environment variable has a comma-separated list.
    webhooks: webhook?.flatMap((urls) => urls.split(",")).map((url) => url.trim()),
    allowedHosts: allowedHosts?.split(",").map((name) => name.trim()),
  };
  for (const [flag, value] of Object.entries(flags)) {
    if (isNumberFlag(flag)) options[NUMBERS[flag]] = readNumber(flags[flag], NUMBERS[flag]);
    else options[flag] = value;
  }
  return options;
}

function isNumberFlag(flag: string): flag is NumberFlag {
  return Object.hasOwn(NUMBERS, flag);
}

function readNumber(text: string | undefined, field: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidRequestError(field, `is "${text}" and must be a whole number`);
}

async function open(shell: Shell, given: ServeFlags): Promise<RunningServer> {
  const { join, advertise, tcTtl, logFormat, port, ...flags } = given;
  if (port !== undefined)
    throw new InvalidRequestError("port", `is not an option; use --listen 127.0.0.1:${port}`);
  const deps = logDeps(shell, logFormat);
  const options = readOptions(flags);
  // Loaded here, because it takes a while and the other commands do not need it.
  const { parseServerOptions, TenureServer } = await import("@tenure/server");
  // Wrong options are reported before flags that do not go together.
  parseServerOptions(options);
  if (join !== undefined) {
    const { openPeerServer } = await import("./peers/peer-server.js");
    return openPeerServer(options, { join, advertise, ttlMs: Number(tcTtl ?? DEFAULT_TC_TTL) }, deps);
  }
  const orphan = advertise === undefined ? (tcTtl === undefined ? null : "tc-ttl") : "advertise";
  if (orphan !== null) throw new InvalidRequestError(orphan, "has no effect without join");
  const server = await TenureServer.open(options, deps);
  return { server, close: () => server.close() };
}

/** Text for people at a terminal. Programs get the JSON lines of the server on standard error. */
function logDeps(shell: Shell, format = "auto"): Pick<TenureServerDeps, "logTo"> {
  if (!LOG_FORMATS.includes(format))
    throw new InvalidRequestError("logFormat", `is "${format}" and must be one of ${LOG_FORMATS.join(", ")}`);
  if (format === "json" || (format === "auto" && !shell.isWatched)) return {};
  return { logTo: { write: (line) => shell.writeError(logText(line, shell.paint)) } };
}

async function serve(shell: Shell, given: ServeFlags, command: Command): Promise<void> {
  let running: RunningServer;
  try {
    running = await open(shell, readEnvironment(given, command));
  } catch (error) {
    if (!(error instanceof TenureError)) throw error;
    shell.writeError(`tenure: ${sentenceOf(error, command)}\n`);
    shell.exitCode = EXIT.wrongUse;
    return;
  }
  const { server } = running;
  const systemd = await notifierOf(shell);
  const stop = (): void => {
    systemd?.stopping();
    const close = async (): Promise<void> => {
      try {
        await running.close();
      } finally {
        await systemd?.close();
      }
    };
    close().then(
      () => process.exit(EXIT.done),
      (error: unknown) => {
        shell.writeError(`tenure: ${String(error)}\n`);
        process.exit(EXIT.failed);
      },
    );
  };
  // Before the line that says that the server is ready: the reader of that line may send a signal at once.
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  // Not at a terminal: it sends SIGHUP when it is closed, and the server then ends.
  if (given.auditLog !== undefined && !shell.isInteractive)
    process.on("SIGHUP", () => server.reopenAuditLog());
  shell.write(`tenure listening on ${server.url} (store: ${server.storeName})\n`);
  if (server.grpcAddress !== null) shell.write(`tenure gRPC listening on ${server.grpcAddress}\n`);
  systemd?.start();
  systemd?.ready(`listening on ${server.url} (store: ${server.storeName})`);
}

/** `null` if this process is no service of systemd that wants notifications. Loaded only then. */
async function notifierOf(shell: Shell): Promise<SystemdNotifier | null> {
  if ((shell.env["NOTIFY_SOCKET"] ?? "") === "") return null;
  const { SystemdNotifier } = await import("./run/systemd-notifier.js");
  const report: Report = ({ message }) => shell.writeError(`tenure: ${message}\n`);
  return SystemdNotifier.of({ env: shell.env, clock: shell.clock, report });
}

/** Names options by their flags. The field of an error may also be the path of a file, which stays as it is. */
function sentenceOf(error: TenureError, command: Command): string {
  if (!(error instanceof InvalidRequestError)) return error.message;
  if (isAddressInUse(error))
    return `port ${error.cause.port} is already in use; stop the other process or choose --${error.field} HOST:PORT`;
  const nameOf = (field: string): string => {
    const flag = field === "webhooks" ? "webhook" : field;
    const attribute = Object.entries(NUMBERS).find(([, name]) => name === flag)?.[0] ?? flag;
    const found = command.options.find((each) => each.attributeName() === attribute || each.name() === field);
    return found === undefined ? field : `--${found.name()}`;
  };
  return `${nameOf(error.field)} ${error.problemWith(nameOf)}`;
}

function isAddressInUse(error: Error): error is Error & { readonly cause: { readonly port: number } } {
  return (error.cause as { readonly code?: unknown } | undefined)?.code === "EADDRINUSE";
}
