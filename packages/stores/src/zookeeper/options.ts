import { InvalidRequestError } from "@tenure/core";
import { booleanParameter, numberParameter, parseServerUrl, type ServerAddress } from "../server-url.js";
import type { TlsFiles } from "./wire/socket.js";

export interface ZookeeperStoreOptions {
  /** Some or all servers of the ensemble. */
  readonly servers: readonly ServerAddress[];
  /** The node below which everything is kept. It is made if it is not there. By default `/tenure`. */
  readonly path?: string;
  /** For digest authentication. What is made is then open to this user only, and else to everyone. */
  readonly user?: string;
  readonly password?: string;
  /** A server that is silent for two thirds of it is given up. By default 6000; the server may grant more or less. */
  readonly sessionTimeoutMs?: number;
  /** Speak TLS; `{}` trusts the authorities that Node knows. */
  readonly tls?: TlsFiles;
}

/** The same, checked and with its defaults. */
export interface CheckedOptions {
  readonly servers: readonly ServerAddress[];
  readonly path: string;
  readonly credentials: { readonly user: string; readonly password: string } | undefined;
  readonly timeoutMs: number;
  readonly tls: TlsFiles | undefined;
}

const KNOWN = ["servers", "path", "user", "password", "sessionTimeoutMs", "tls"];
const TLS_FILES = ["ca", "cert", "key"] as const;
const PARAMETERS = ["session_timeout_ms", "tls", ...TLS_FILES];
const DEFAULT_PORT = 2181;
const DEFAULT_PATH = "/tenure";
const LONGEST_PATH = 512;
const TIMEOUT_MS = { least: 1000, most: 60_000, otherwise: 6000 };

/** What no node's name may hold. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;

/** `zookeeper://user:password@host:port,host:port/path?session_timeout_ms=6000&tls=true&ca=FILE&cert=FILE&key=FILE` */
export function parseZookeeperUrl(text: string): ZookeeperStoreOptions {
  const url = parseServerUrl(text, { defaultPort: DEFAULT_PORT, parameters: PARAMETERS });
  const files = TLS_FILES.flatMap((name) => {
    const file = url.parameters.get(name);
    return file === undefined ? [] : [[name, file] as const];
  });
  const isTls = booleanParameter(url, "tls", false);
  if (!isTls && files.length > 0) {
    throw new InvalidRequestError("store", `has ${files[0]?.[0]} without tls=true`);
  }
  return {
    servers: url.servers,
    ...(url.path === "" ? {} : { path: `/${url.path}` }),
    ...(url.user === undefined ? {} : { user: url.user }),
    ...(url.password === undefined ? {} : { password: url.password }),
    sessionTimeoutMs: numberParameter(url, "session_timeout_ms", TIMEOUT_MS),
    ...(isTls ? { tls: Object.fromEntries(files) } : {}),
  };
}

export function checkOptions(options: ZookeeperStoreOptions): CheckedOptions {
  for (const name of Object.keys(options)) {
    if (!KNOWN.includes(name))
      throw new InvalidRequestError(name, `is not known; known are ${KNOWN.join(", ")}`);
  }
  return Object.freeze({
    servers: checkServers(options.servers),
    path: checkPath(options.path ?? DEFAULT_PATH),
    credentials: checkCredentials(options),
    timeoutMs: checkTimeout(options.sessionTimeoutMs ?? TIMEOUT_MS.otherwise),
    tls: checkTls(options.tls),
  });
}

function checkServers(servers: unknown): readonly ServerAddress[] {
  if (!Array.isArray(servers) || servers.length === 0) {
    throw new InvalidRequestError("servers", "must be a list of { host, port }");
  }
  return servers.map((server: Partial<ServerAddress> | null, i) => {
    const { host, port } = server ?? {};
    if (typeof host !== "string" || host === "") {
      throw new InvalidRequestError(`servers[${i}].host`, "must be a name or an address");
    }
    if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65_535) {
      throw new InvalidRequestError(`servers[${i}].port`, "must be a whole number from 1 to 65535");
    }
    return { host, port: port as number };
  });
}

function checkPath(path: unknown): string {
  if (typeof path !== "string" || !path.startsWith("/") || path.length > LONGEST_PATH) {
    throw new InvalidRequestError(
      "path",
      `must begin with a slash and have at most ${LONGEST_PATH} characters`,
    );
  }
  for (const name of path.slice(1).split("/")) {
    if (name === "" || name === "." || name === ".." || FORBIDDEN.test(name)) {
      throw new InvalidRequestError(
        "path",
        `has the part ${JSON.stringify(name)}, which cannot be the name of a node`,
      );
    }
  }
  if (/^\/zookeeper(?:\/|$)/.test(path)) {
    throw new InvalidRequestError("path", "must not begin with /zookeeper, which is ZooKeeper's own");
  }
  return path;
}

function checkCredentials({ user, password }: ZookeeperStoreOptions): CheckedOptions["credentials"] {
  if (user === undefined && password === undefined) return undefined;
  if (typeof user !== "string" || user === "" || user.includes(":")) {
    throw new InvalidRequestError("user", "must be a name without a colon");
  }
  if (typeof password !== "string" || password === "") {
    throw new InvalidRequestError("password", "must be given along with the user");
  }
  return { user, password };
}

function checkTimeout(value: unknown): number {
  const { least, most } = TIMEOUT_MS;
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > most) {
    throw new InvalidRequestError("sessionTimeoutMs", `must be a whole number from ${least} to ${most}`);
  }
  return value as number;
}

function checkTls(tls: TlsFiles | undefined): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  if (typeof tls !== "object" || tls === null)
    throw new InvalidRequestError("tls", "must be an object of files");
  for (const [name, file] of Object.entries(tls) as [string, unknown][]) {
    if (!(TLS_FILES as readonly string[]).includes(name)) {
      throw new InvalidRequestError(`tls.${name}`, `is not known; known are ${TLS_FILES.join(", ")}`);
    }
    if (typeof file !== "string" || file === "")
      throw new InvalidRequestError(`tls.${name}`, "must name a file");
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new InvalidRequestError("tls.cert", "and tls.key must be given together");
  }
  return { ...tls };
}
