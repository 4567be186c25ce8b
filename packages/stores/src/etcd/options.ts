import { InvalidRequestError } from "@tenure/core";
import {
  type Bounds,
  type Login,
  serverName,
  OptionReader,
  type ServerOption,
  type TlsOption,
} from "../option-reader.js";
import { ServerUrl, type FromUrl, TLS_PARAMETERS } from "../server-url.js";
import type { TlsFiles } from "../tls-files.js";

export interface EtcdStoreOptions {
  /** The members of one cluster. The store uses one member at a time, and another when that one fails. */
  readonly servers: readonly ServerOption[];
  /**
   * All keys of the store begin with the prefix and two slashes. 1 to 200 characters.
   *
   * @defaultValue "tenure"
   */
  readonly prefix?: string | undefined;
  /** Used if etcd asks for a login. Must be allowed to read and write below the prefix. Needs `password`. @defaultValue none */
  readonly user?: string | undefined;
  /** The password of `user`. @defaultValue none */
  readonly password?: string | undefined;
  /** @defaultValue false */
  readonly tls?: TlsOption | undefined;
  /**
   * The `--max-txn-ops` of the members. If it is higher than theirs, etcd refuses large batches; if it is lower, batches are
   * smaller than they could be.
   *
   * @defaultValue 128
   */
  readonly maxTxnOps?: number | undefined;
}

/** The same, checked and complete. */
export interface EtcdOptions {
  /** As `host:port`. */
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly login: Login | null;
  readonly tls: TlsFiles | null;
  readonly maxTxnOps: number;
}

const DEFAULT_PORT = 2379;
const DEFAULT_PREFIX = "tenure";
const DEFAULT_TXN_OPS = 128;
/** One is taken by the `head`, and etcd counts the depth of a transaction as one more. */
const TXN_OPS: Bounds = { min: 3, max: 100_000 };
const MAX_PREFIX_LENGTH = 200;

/** `etcd://user:password@a:2379,b:2379/prefix?tls=true&ca=FILE&cert=FILE&key=FILE&max_txn_ops=128` */
export function parseEtcdUrl(text: string): FromUrl<EtcdStoreOptions> {
  const url = new ServerUrl(text, {
    defaultPort: DEFAULT_PORT,
    parameters: [...TLS_PARAMETERS, "max_txn_ops"],
  });
  return {
    servers: url.servers,
    prefix: url.path,
    user: url.user,
    password: url.password,
    tls: url.tls(),
    maxTxnOps: url.integer("max_txn_ops", TXN_OPS),
  };
}

export function checkOptions(options: EtcdStoreOptions): EtcdOptions {
  const reader = new OptionReader(options, ["servers", "prefix", "user", "password", "tls", "maxTxnOps"]);
  return Object.freeze({
    endpoints: reader.servers("servers", DEFAULT_PORT).map(serverName),
    prefix: checkPrefix(options.prefix ?? DEFAULT_PREFIX),
    login: reader.login() ?? null,
    tls: reader.tls() ?? null,
    maxTxnOps: reader.integer("maxTxnOps", TXN_OPS) ?? DEFAULT_TXN_OPS,
  });
}

/** Two slashes end the prefix, so a prefix must not contain them: then no key space lies within another. */
function checkPrefix(prefix: unknown): string {
  if (typeof prefix !== "string" || prefix === "" || prefix.length > MAX_PREFIX_LENGTH) {
    throw new InvalidRequestError("prefix", `must be 1 to ${MAX_PREFIX_LENGTH} characters`);
  }
  if (prefix.endsWith("/") || prefix.includes("//")) {
    throw new InvalidRequestError("prefix", "must neither end with a slash nor contain two in a row");
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(prefix))
    throw new InvalidRequestError("prefix", "must be text without control characters");
  return prefix;
}
