import { BackendUnavailableError, InvalidRequestError, unlessAborted } from "@tenure/core";
import type {
  ConnectionOptions,
  MsgHdrs,
  NatsConnection,
  NodeConnectionOptions,
  TlsOptions,
} from "@nats-io/transport-node";
import { loadLibraries } from "../engine-libraries.js";
import { readOptionFile, readTlsFiles, type TlsFiles } from "../tls-files.js";
import { Link, type LinkSource, type NatsStatus } from "./link.js";
import type { NatsOptions } from "./options.js";
import { firstToSpeak } from "./probe.js";

export type NatsLibrary = typeof import("@nats-io/transport-node");

/** Until the first server speaks, and once more until it has let us in. */
const CONNECT_MS = 2000;
/** A server that does not answer is given up after three of these, so that another can be tried. */
const PING_MS = 1000;
const PINGS_UNANSWERED = 2;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1000;

/** Connections of the store itself, one after the other. */
export class Connection implements LinkSource {
  readonly #library: NatsLibrary;
  readonly #settings: NodeConnectionOptions;
  readonly #servers: readonly string[];
  readonly #listeners = new Set<(status: NatsStatus) => void>();
  #link: Link | null;
  #failure: unknown = null;
  #status: NatsStatus = "connected";
  #retryTimer: NodeJS.Timeout | null = null;
  #attempt: Promise<void> = Promise.resolve();

  private constructor(
    library: NatsLibrary,
    settings: NodeConnectionOptions,
    servers: readonly string[],
    link: Link,
  ) {
    this.#library = library;
    this.#settings = settings;
    this.#servers = servers;
    this.#link = link;
    this.#follow(link);
  }

  static async open(options: NatsOptions, signal?: AbortSignal): Promise<Connection> {
    const library = await loadNats();
    const settings = await settingsOf(library, options);
    const { servers } = options;
    let connection: NatsConnection;
    const connecting = connect(library, settings, servers);
    try {
      connection = await unlessAborted(signal, connecting);
    } catch (cause) {
      // An attempt cannot be called off: what it still opens is closed.
      if (signal?.aborted === true) connecting.then((late) => late.close()).catch(() => {});
      signal?.throwIfAborted();
      throw refusalOf(library, cause, servers.join(", "));
    }
    return new Connection(library, settings, servers, new Link(connection));
  }

  get status(): NatsStatus {
    return this.#status;
  }

  onStatus(listener: (status: NatsStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  link(): Link {
    if (this.#link !== null) return this.#link;
    const message = `not connected to NATS at ${this.#servers.join(", ")}; trying again`;
    throw new BackendUnavailableError(message, { cause: this.#failure });
  }

  headers(): MsgHdrs {
    return this.#library.headers();
  }

  async close(): Promise<void> {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    const link = this.#link;
    this.#link = null;
    this.#become("closed");
    this.#listeners.clear();
    await link?.close();
    // An attempt cannot be called off, and is short; it closes what it opens.
    await this.#attempt;
  }

  #follow(link: Link): void {
    void link.ended.then((reason) => {
      if (this.#status === "closed") return;
      this.#link = null;
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
    const link = new Link(connection);
    this.#link = link;
    this.#follow(link);
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
