import { InvalidRequestError } from "@tenure/core";
import { booleanParameter, numberParameter, parseServerUrl } from "../server-url.js";

export interface EtcdStoreOptions {
  /** The members of one cluster, each as `host` or `host:port`. One that works is used at a time. */
  readonly endpoints: readonly string[];
  /** Our keys are all those that begin with it and two slashes. `tenure` unless said otherwise. */
  readonly prefix?: string | undefined;
  /** Together with `password`; used if etcd asks for it. Must be allowed to read and to write below the prefix. */
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: boolean | undefined;
  /** A file of certificates, in PEM, that the members' certificates must lead to; the system's unless given. */
  readonly ca?: string | undefined;
  /** The files, in PEM, of a certificate and its key by which the members know this client. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** What the members were started with as `--max-txn-ops`; 128 unless raised. */
  readonly maxTxnOps?: number | undefined;
}

export type TlsFiles = Readonly<Partial<Record<"ca" | "cert" | "key", string>>>;

/** Options as they are used: checked, complete, frozen. */
export interface EtcdOptions {
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly login: { readonly user: string; readonly password: string } | null;
  readonly tls: TlsFiles | null;
  readonly maxTxnOps: number;
}

const DEFAULT_PORT = 2379;
const DEFAULT_PREFIX = "tenure";
/** One is taken by the `head`, and etcd counts the depth of a transaction as one more. */
const TXN_OPS = { least: 3, most: 100_000, otherwise: 128 };
const LONGEST_PREFIX = 200;
const ENDPOINT = /^(\[[0-9a-f:.]+\]|[^:[\]\s/@?#]+)(?::(\d{1,5}))?$/i;
const FILES = ["ca", "cert", "key"] as const;
const KNOWN = new Set(["endpoints", "prefix", "user", "password", "tls", ...FILES, "maxTxnOps"]);

/** `etcd://user:password@a:2379,b:2379/prefix?tls=true&ca=FILE&cert=FILE&key=FILE&max_txn_ops=128` */
export function parseEtcdUrl(url: string): EtcdStoreOptions {
  const shape = { defaultPort: DEFAULT_PORT, parameters: ["tls", ...FILES, "max_txn_ops"] };
  const parsed = parseServerUrl(url, shape);
  return {
    endpoints: parsed.servers.map(({ host, port }) =>
      host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`,
    ),
    prefix: parsed.path === "" ? undefined : parsed.path,
    user: parsed.user,
    password: parsed.password,
    tls: booleanParameter(parsed, "tls", false),
    ca: parsed.parameters.get("ca"),
    cert: parsed.parameters.get("cert"),
    key: parsed.parameters.get("key"),
    maxTxnOps: numberParameter(parsed, "max_txn_ops", TXN_OPS),
  };
}

export function checkOptions(options: EtcdStoreOptions): EtcdOptions {
  for (const name of Object.keys(options)) {
    if (!KNOWN.has(name)) throw refused(name, `is unknown; must be one of ${[...KNOWN].join(", ")}`);
  }
  return Object.freeze({
    endpoints: checkEndpoints(options.endpoints),
    prefix: checkPrefix(options.prefix ?? DEFAULT_PREFIX),
    login: checkLogin(options.user, options.password),
    tls: checkTls(options),
    maxTxnOps: checkTxnOps(options.maxTxnOps ?? TXN_OPS.otherwise),
  });
}

function checkEndpoints(endpoints: unknown): readonly string[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) {
    throw refused("endpoints", "must be a list of at least one host or host:port");
  }
  return Object.freeze(endpoints.map((endpoint: unknown, i) => checkEndpoint(`endpoints[${i}]`, endpoint)));
}

function checkEndpoint(field: string, endpoint: unknown): string {
  const [, host, port = String(DEFAULT_PORT)] = ENDPOINT.exec(String(endpoint)) ?? [];
  if (host === undefined) throw refused(field, "must be host or host:port, without a scheme");
  if (Number(port) < 1 || Number(port) > 65_535)
    throw refused(field, `has port ${port}; must be from 1 to 65535`);
  return `${host}:${port}`;
}

/** Two slashes end the prefix, so it must have none: then no space of keys lies within another. */
function checkPrefix(prefix: unknown): string {
  if (typeof prefix !== "string" || prefix === "" || prefix.length > LONGEST_PREFIX) {
    throw refused("prefix", `must be 1 to ${LONGEST_PREFIX} characters`);
  }
  if (prefix.endsWith("/") || prefix.includes("//")) {
    throw refused("prefix", "must neither end with a slash nor contain two in a row");
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(prefix))
    throw refused("prefix", "must be text without control characters");
  return prefix;
}

function checkLogin(user: unknown, password: unknown): EtcdOptions["login"] {
  if (user === undefined && password === undefined) return null;
  if (typeof user !== "string" || user === "") throw refused("user", "must be given along with the password");
  if (typeof password !== "string" || password === "")
    throw refused("password", "must be given along with the user");
  return Object.freeze({ user, password });
}

function checkTls(options: EtcdStoreOptions): TlsFiles | null {
  const files: Partial<Record<"ca" | "cert" | "key", string>> = {};
  for (const name of FILES) {
    const path: unknown = options[name];
    if (path === undefined) continue;
    if (typeof path !== "string" || path === "" || path.includes("\0"))
      throw refused(name, "must be the path of a file");
    if (options.tls !== true) throw refused(name, "is of use with tls=true only");
    files[name] = path;
  }
  const tls: unknown = options.tls ?? false;
  if (typeof tls !== "boolean") throw refused("tls", "must be true or false");
  if (files.cert === undefined && files.key !== undefined)
    throw refused("cert", "must be given along with the key");
  if (files.cert !== undefined && files.key === undefined)
    throw refused("key", "must be given along with the cert");
  return tls ? Object.freeze(files) : null;
}

function checkTxnOps(ops: unknown): number {
  if (Number.isSafeInteger(ops) && Number(ops) >= TXN_OPS.least && Number(ops) <= TXN_OPS.most)
    return Number(ops);
  throw refused("maxTxnOps", `must be a whole number from ${TXN_OPS.least} to ${TXN_OPS.most}`);
}

function refused(field: string, problem: string): InvalidRequestError {
  return new InvalidRequestError(field, problem);
}
