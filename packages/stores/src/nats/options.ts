import { InvalidRequestError } from "@tenure/core";
import { checkConnection, type NatsConnectionLike } from "./connection-like.js";
import { booleanParameter, numberParameter, parseServerUrl, type ServerUrl } from "../server-url.js";

export interface NatsStoreOptions {
  /**
   * `host` or `host:port` of each server that may be connected to; others of the cluster are not looked for. Required unless
   * `connection` is given.
   */
  readonly servers?: readonly string[] | undefined;
  /**
   * A connection of the program, of `@nats-io/transport-node`, instead of `servers`, credentials and TLS. Closing the store leaves
   * it open. A server that hangs is only noticed by the connection's own pings, which by default takes minutes: connect with
   * `pingInterval: 1000`, and leave `reconnect` on.
   */
  readonly connection?: NatsConnectionLike | undefined;
  /** The key-value bucket: letters, digits, `_` and `-`. */
  readonly bucket: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly token?: string | undefined;
  /** The path of a `.creds` file. */
  readonly credentialsFile?: string | undefined;
  /** How many servers keep each entry; a bucket that exists must have as many. 1 for a new one unless told otherwise. */
  readonly replicas?: number | undefined;
  /** Whether to make the bucket if it is missing; it is made unless told otherwise. */
  readonly create?: boolean | undefined;
  /** Insists on TLS. Without it TLS is used if the server offers it. */
  readonly tls?: boolean | undefined;
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

export const DEFAULT_PORT = 4222;
const MOST_REPLICAS = 5;
const BUCKET = /^[A-Za-z0-9_-]{1,200}$/;
const SERVER = /^(?:\[[0-9A-Fa-f:.]+\]|[^\s:/@[\],]+)(?::\d{1,5})?$/;
const TEXTS = [
  "bucket",
  "user",
  "password",
  "token",
  "credentialsFile",
  "caFile",
  "certFile",
  "keyFile",
] as const;
const KNOWN: ReadonlySet<string> = new Set([...TEXTS, "servers", "connection", "replicas", "create", "tls"]);
/** What a connection that is given has settled already. */
const OF_CONNECTION = [
  "servers",
  "user",
  "password",
  "token",
  "credentialsFile",
  "tls",
  "caFile",
  "certFile",
  "keyFile",
] as const;

/** `nats://h:4222,h2:4222/bucket`, with `user:password@` or `token@` before the servers. */
export function parseNatsUrl(text: string): NatsStoreOptions & { readonly servers: readonly string[] } {
  const url = parseServerUrl(text, {
    defaultPort: DEFAULT_PORT,
    parameters: ["replicas", "create", "tls", "ca", "cert", "key", "creds"],
  });
  if (url.path === "") {
    throw new InvalidRequestError("store", "must name a bucket: nats://host:4222/bucket");
  }
  const isToken = url.user !== undefined && url.password === undefined;
  return {
    servers: url.servers.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`),
    bucket: url.path,
    user: isToken ? undefined : url.user,
    password: url.password,
    token: isToken ? url.user : undefined,
    credentialsFile: url.parameters.get("creds"),
    replicas: replicasOf(url),
    create: booleanParameter(url, "create", true),
    tls: url.parameters.has("tls") ? booleanParameter(url, "tls", false) : undefined,
    caFile: url.parameters.get("ca"),
    certFile: url.parameters.get("cert"),
    keyFile: url.parameters.get("key"),
  };
}

/** The same, once it can be right. No refusal shows a secret. */
export function checkNatsOptions(options: NatsStoreOptions): NatsStoreOptions {
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) throw new InvalidRequestError(name, "is not an option of this store");
  }
  for (const name of TEXTS) {
    const text: unknown = options[name];
    if (text !== undefined && (typeof text !== "string" || text === "")) {
      throw new InvalidRequestError(name, "must be a string that is not empty");
    }
  }
  if (options.connection === undefined) checkServers(options.servers);
  else checkShared(options);
  if (!BUCKET.test(options.bucket ?? "")) {
    throw new InvalidRequestError("bucket", "must be 1 to 200 letters, digits, _ or -");
  }
  const { replicas } = options;
  if (replicas !== undefined && !(Number.isInteger(replicas) && replicas >= 1 && replicas <= MOST_REPLICAS)) {
    throw new InvalidRequestError("replicas", `must be a whole number from 1 to ${MOST_REPLICAS}`);
  }
  for (const name of ["create", "tls"] as const) {
    const flag: unknown = options[name];
    if (flag !== undefined && typeof flag !== "boolean") {
      throw new InvalidRequestError(name, "must be true or false");
    }
  }
  checkRelations(options);
  return Object.freeze({ ...options, ...(options.servers && { servers: [...options.servers] }) });
}

function checkShared(options: NatsStoreOptions): void {
  checkConnection(options.connection);
  const settled = OF_CONNECTION.find((name) => options[name] !== undefined);
  if (settled === undefined) return;
  throw new InvalidRequestError(settled, "is settled by the connection that is given; remove it");
}

function checkServers(servers: unknown): void {
  if (!Array.isArray(servers) || servers.length === 0) {
    throw new InvalidRequestError("servers", "must name at least one server, unless connection is given");
  }
  for (const server of servers as readonly unknown[]) {
    if (typeof server !== "string" || !SERVER.test(server)) {
      throw new InvalidRequestError("servers", "must each be host or host:port");
    }
  }
}

function checkRelations(options: NatsStoreOptions): void {
  const { user, password, token, credentialsFile, tls, caFile, certFile, keyFile } = options;
  if ((user === undefined) !== (password === undefined)) {
    throw new InvalidRequestError("password", "must come with a user, and a user with a password");
  }
  const ways = [user, token, credentialsFile].filter((each) => each !== undefined);
  if (ways.length > 1) {
    throw new InvalidRequestError("credentialsFile", "user and token exclude each other; give one of them");
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new InvalidRequestError("certFile", "must come with a keyFile, and a keyFile with a certFile");
  }
  if (tls === false && (caFile !== undefined || certFile !== undefined)) {
    throw new InvalidRequestError("tls", "must not be false where certificates are given");
  }
}

function replicasOf(url: ServerUrl): number | undefined {
  if (!url.parameters.has("replicas")) return undefined;
  return numberParameter(url, "replicas", { least: 1, most: MOST_REPLICAS, otherwise: 1 });
}
