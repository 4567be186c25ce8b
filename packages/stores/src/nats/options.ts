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
import { checkConnection, type NatsConnectionLike } from "./connection-like.js";

export interface NatsStoreOptions {
  /**
   * The servers to connect to; other servers of the cluster are not discovered.
   *
   * @defaultValue none: required unless `connection` is given
   */
  readonly servers?: readonly ServerOption[] | undefined;
  /**
   * A connection of the program, of `@nats-io/transport-node`, instead of `servers`, credentials and TLS. Closing the store
   * leaves it open. A server that hangs is noticed only by the pings of the connection, by default after minutes: connect with
   * `pingInterval: 1000`, and leave `reconnect` on.
   *
   * @defaultValue none: the store opens a connection
   */
  readonly connection?: NatsConnectionLike | undefined;
  /** The key-value bucket: 1 to 200 letters, digits, `_` and `-`. */
  readonly bucket: string;
  /** For a login by user and password. Needs `password`. @defaultValue none */
  readonly user?: string | undefined;
  /** The password of `user`. @defaultValue none */
  readonly password?: string | undefined;
  /** For a login by token, instead of `user` and `password`. @defaultValue none */
  readonly token?: string | undefined;
  /** The path of a `.creds` file, instead of the other credentials. @defaultValue none */
  readonly credentialsFile?: string | undefined;
  /**
   * Number of servers that keep each entry, 1 to 5. An existing bucket with another number is refused.
   *
   * @defaultValue that of an existing bucket, 1 for a new one
   */
  readonly replicas?: number | undefined;
  /**
   * Whether to create the bucket if it does not exist.
   *
   * @defaultValue true
   */
  readonly create?: boolean | undefined;
  /** `true` or files: connect only with TLS. `false`: never. @defaultValue TLS is used if the server offers it */
  readonly tls?: TlsOption | undefined;
}

/** The same, checked. */
export interface NatsOptions {
  /** As `host:port`. Empty if `connection` is given. */
  readonly servers: readonly string[];
  readonly connection: NatsConnectionLike | undefined;
  readonly bucket: string;
  readonly login: Login | undefined;
  readonly token: string | undefined;
  readonly credentialsFile: string | undefined;
  readonly replicas: number | undefined;
  readonly create: boolean;
  readonly tls: TlsFiles | null | undefined;
}

const DEFAULT_PORT = 4222;
const REPLICAS: Bounds = { min: 1, max: 5 };
const BUCKET = /^[A-Za-z0-9_-]{1,200}$/;
const CREDENTIALS = ["user", "password", "token", "credentialsFile"] as const;
/** Settled by a connection that is given. */
const OF_CONNECTION = ["servers", ...CREDENTIALS, "tls"] as const;

/** `nats://a:4222,b:4222/bucket?…`, with `user:password@` or `token@` before the servers. */
export function parseNatsUrl(text: string): FromUrl<NatsStoreOptions> {
  const url = new ServerUrl(text, {
    defaultPort: DEFAULT_PORT,
    parameters: ["replicas", "create", ...TLS_PARAMETERS, "creds"],
  });
  if (url.path === undefined) {
    throw new InvalidRequestError("store", "must name a bucket: nats://host:4222/bucket");
  }
  const isToken = url.user !== undefined && url.password === undefined;
  return {
    servers: url.servers,
    bucket: url.path,
    user: isToken ? undefined : url.user,
    password: url.password,
    token: isToken ? url.user : undefined,
    credentialsFile: url.text("creds"),
    replicas: url.integer("replicas", REPLICAS),
    create: url.flag("create"),
    tls: url.tls(),
  };
}

export function checkOptions(options: NatsStoreOptions): NatsOptions {
  const reader = new OptionReader(options, [...OF_CONNECTION, "connection", "bucket", "replicas", "create"]);
  reader.excludes("connection", OF_CONNECTION);
  const { connection, bucket } = options;
  if (connection !== undefined) checkConnection(connection);
  if (!BUCKET.test(bucket ?? "")) {
    throw new InvalidRequestError("bucket", "must be 1 to 200 letters, digits, _ or -");
  }
  const [login, token] = [reader.login(), reader.text("token")];
  reader.excludes("token", ["user"]);
  reader.excludes("credentialsFile", ["user", "token"]);
  return Object.freeze({
    servers: connection === undefined ? reader.servers("servers", DEFAULT_PORT).map(serverName) : [],
    connection,
    bucket,
    login,
    token,
    credentialsFile: reader.text("credentialsFile"),
    replicas: reader.integer("replicas", REPLICAS),
    create: reader.flag("create") ?? true,
    tls: reader.tls(),
  });
}
