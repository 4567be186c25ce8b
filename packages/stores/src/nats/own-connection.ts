import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import type {
  ConnectionOptions,
  MsgHdrs,
  NatsConnection,
  NodeConnectionOptions,
  TlsOptions,
} from "@nats-io/transport-node";
import { loadLibraries } from "../engine-libraries.js";
import { readOptionFile, readTlsFiles, type TlsFiles } from "../tls-files.js";
import { Connection, type ConnectionSource, type NatsStatus } from "./connection.js";
import type { NatsOptions } from "./options.js";
import { firstToSpeak } from "./probe.js";

export type NatsLibrary = typeof import("@nats-io/transport-node");

/** Timeout until the first server speaks, and again until it has accepted the login. */
const CONNECT_MS = 2000;
/** A server that does not answer three pings is left, so that another one can be tried. */
const PING_MS = 1000;
const PINGS_UNANSWERED = 2;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1000;

/** Connections of the store itself, one after the other. */
export class OwnConnection implements ConnectionSource {
  readonly #library: NatsLibrary;
  readonly #settings: NodeConnectionOptions;
  readonly #servers: readonly string[];
  readonly #listeners = new Set<(status: NatsStatus) => void>();
  #current: Connection | null;
  #failure: unknown = null;
  #status: NatsStatus = "connected";
  #retryTimer: NodeJS.Timeout | null = null;
  #attempt: Promise<void> = Promise.resolve();

  private constructor(
    library: NatsLibrary,
    settings: NodeConnectionOptions,
    servers: readonly string[],
    current: Connection,
  ) {
    this.#library = library;
    this.#settings = settings;
    this.#servers = servers;
    this.#current = current;
    this.#follow(current);
  }

  static async open(options: NatsOptions, signal?: AbortSignal): Promise<OwnConnection> {
    const library = await loadNats();
    const settings = await settingsOf(library, options);
    const { servers } = options;
    let connection: NatsConnection;
    const connecting = connect(library, settings, servers);
    try {
      connection = await unlessAborted(signal, connecting);
    } catch (cause) {
      // An attempt cannot be cancelled: a connection that it still opens is closed.
      if (signal?.aborted === true) connecting.then((late) => late.close()).catch(() => {});
      signal?.throwIfAborted();
      throw refusalOf(library, cause, servers.join(", "));
    }
    return new OwnConnection(library, settings, servers, new Connection(connection));
  }

  get status(): NatsStatus {
    return this.#status;
  }

  onStatus(listener: (status: NatsStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  current(): Connection {
    if (this.#current !== null) return this.#current;
    const message = `not connected to NATS at ${this.#servers.join(", ")}; trying again`;
    throw new BackendUnavailableError(message, { cause: this.#failure });
  }

  headers(): MsgHdrs {
    return this.#library.headers();
  }

  async close(): Promise<void> {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const current = this.#current;
    this.#current = null;
    this.#become("closed");
    this.#listeners.clear();
    await current?.close();
    // An attempt cannot be cancelled, and is short. It closes what it opens.
    await this.#attempt;
  }

  #follow(current: Connection): void {
    void current.ended.then((reason) => {
      if (this.#status === "closed") return;
      this.#current = null;
      this.#failure = reason;
      this.#become("disconnected");
      this.#retry(0);
    });
  }

  #retry(waitMs: number): void {
    this.#retryTimer = setTimeout(() => {
      this.#attempt = this.#connect().catch((error: unknown) => {
        this.#failure = error;
        if (this.#status === "closed") return;
        this.#retry(Math.min(Math.max(FIRST_RETRY_MS, 2 * waitMs), MAX_RETRY_MS));
      });
    }, waitMs);
  }

  async #connect(): Promise<void> {
    const connection = await connect(this.#library, this.#settings, this.#servers);
    if (this.#status === "closed") return connection.close();
    const current = new Connection(connection);
    this.#current = current;
    this.#follow(current);
    this.#become("connected");
  }

  #become(status: NatsStatus): void {
    if (this.#status === status) return;
    this.#status = status;
    for (const listener of this.#listeners) listener(status);
  }
}

export async function loadNats(): Promise<NatsLibrary> {
  const name = "@nats-io/transport-node";
  return (await loadLibraries("nats", { [name]: () => import("@nats-io/transport-node") }))[name];
}

async function connect(
  library: NatsLibrary,
  settings: NodeConnectionOptions,
  servers: readonly string[],
): Promise<NatsConnection> {
  return library.connect({ ...settings, servers: await firstToSpeak(servers, CONNECT_MS) });
}

async function settingsOf(library: NatsLibrary, options: NatsOptions): Promise<NodeConnectionOptions> {
  const { tls } = options;
  // Read here, so that a wrong path is named at once. The library reads the files again for each connection.
  if (tls) await readTlsFiles(tls);
  return {
    name: "tenure",
    timeout: CONNECT_MS,
    reconnect: false,
    pingInterval: PING_MS,
    maxPingOut: PINGS_UNANSWERED,
    ...(tls === undefined ? {} : { tls: tls === null ? null : tlsOptionsOf(tls) }),
    ...(await authenticationOf(library, options)),
  };
}

async function authenticationOf(library: NatsLibrary, options: NatsOptions): Promise<ConnectionOptions> {
  const { login, token, credentialsFile } = options;
  if (token !== undefined) return { token };
  if (login !== undefined) return { user: login.user, pass: login.password };
  if (credentialsFile === undefined) return {};
  const credentials = await readOptionFile("credentialsFile", credentialsFile);
  const authenticator = library.credsAuthenticator(credentials);
  try {
    authenticator("");
  } catch (cause) {
    throw new InvalidRequestError("credentialsFile", "holds no credentials of NATS", { cause });
  }
  return { authenticator };
}

function refusalOf(library: NatsLibrary, cause: unknown, servers: string): Error {
  const { AuthorizationError, UserAuthenticationExpiredError } = library.errors;
  if (cause instanceof AuthorizationError || cause instanceof UserAuthenticationExpiredError) {
    const problem = `is refused by NATS at ${servers}; check user and password, token or credentials file`;
    return new InvalidRequestError("store", problem, { cause });
  }
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot connect to NATS at ${servers} (${why}); is it running there?`;
  return new BackendUnavailableError(message, { cause });
}

function tlsOptionsOf({ ca, cert, key }: TlsFiles): TlsOptions {
  return {
    ...(ca === undefined ? {} : { caFile: ca }),
    ...(cert === undefined ? {} : { certFile: cert }),
    ...(key === undefined ? {} : { keyFile: key }),
  };
}
