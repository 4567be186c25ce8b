import { InvalidRequestError } from "@tenure/core";
import {
  type Bounds,
  type Login,
  OptionReader,
  type ServerOption,
  type TlsOption,
} from "../option-reader.js";
import { ServerUrl, type FromUrl, type ServerAddress, TLS_PARAMETERS } from "../server-url.js";
import type { TlsFiles } from "../tls-files.js";

export interface ZookeeperStoreOptions {
  /** Some or all servers of the ensemble. */
  readonly servers: readonly ServerOption[];
  /**
   * The node below which the store keeps its nodes. Created if it does not exist.
   *
   * @defaultValue "/tenure"
   */
  readonly path?: string | undefined;
  /**
   * For digest authentication. Nodes that the store creates are then open to this user only. Needs `password`.
   *
   * @defaultValue none: nodes that the store creates are open to everyone
   */
  readonly user?: string | undefined;
  /** The password of `user`. @defaultValue none */
  readonly password?: string | undefined;
  /**
   * The store leaves a server that is silent for two thirds of this time. 1000 to 60,000; the server may grant more or less.
   *
   * @defaultValue 6000
   */
  readonly sessionTimeoutMs?: number | undefined;
  /** @defaultValue false */
  readonly tls?: TlsOption | undefined;
}

/** The same, checked and with its defaults. */
export interface CheckedOptions {
  readonly servers: readonly ServerAddress[];
  readonly path: string;
  readonly credentials: Login | undefined;
  readonly timeoutMs: number;
  readonly tls: TlsFiles | undefined;
}

const DEFAULT_PORT = 2181;
const DEFAULT_PATH = "/tenure";
const DEFAULT_TIMEOUT_MS = 6000;
const TIMEOUT_MS: Bounds = { min: 1000, max: 60_000 };
const MAX_PATH_LENGTH = 512;

/** Characters that a node's name must not contain. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;

/** `zookeeper://user:password@host:port,host:port/path?session_timeout_ms=6000&tls=true&ca=FILE&cert=FILE&key=FILE` */
export function parseZookeeperUrl(text: string): FromUrl<ZookeeperStoreOptions> {
  const parameters = ["session_timeout_ms", ...TLS_PARAMETERS];
  const url = new ServerUrl(text, { defaultPort: DEFAULT_PORT, parameters });
  return {
    servers: url.servers,
    path: url.path === undefined ? undefined : `/${url.path}`,
    user: url.user,
    password: url.password,
    sessionTimeoutMs: url.integer("session_timeout_ms", TIMEOUT_MS),
    tls: url.tls(),
  };
}

export function checkOptions(options: ZookeeperStoreOptions): CheckedOptions {
  const known = ["servers", "path", "user", "password", "sessionTimeoutMs", "tls"] as const;
  const reader = new OptionReader(options, known);
  const credentials = reader.login();
  if (credentials?.user.includes(":") === true) {
    throw new InvalidRequestError("user", "must not contain a colon");
  }
  return Object.freeze({
    servers: reader.servers("servers", DEFAULT_PORT),
    path: checkPath(options.path ?? DEFAULT_PATH),
    credentials,
    timeoutMs: reader.integer("sessionTimeoutMs", TIMEOUT_MS) ?? DEFAULT_TIMEOUT_MS,
    tls: reader.tls() ?? undefined,
  });
}

function checkPath(path: unknown): string {
  if (typeof path !== "string" || !path.startsWith("/") || path.length > MAX_PATH_LENGTH) {
    throw new InvalidRequestError(
      "path",
      `must begin with a slash and have at most ${MAX_PATH_LENGTH} characters`,
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
    throw new InvalidRequestError("path", "must not begin with /zookeeper, which ZooKeeper uses itself");
  }
  return path;
}
