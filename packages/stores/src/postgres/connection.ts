import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { ClientConfig } from "pg";
import { loadLibraries } from "../engine-libraries.js";
import { serverName } from "../option-reader.js";
import type { ServerAddress } from "../server-url.js";
import { codeOf, isRefusal, sentence } from "./failures.js";
import type { PostgresConfig } from "./options.js";
import { PostgresSession } from "./session.js";

export type Pg = typeof import("pg");

/** For one server; all together are given up on within 5 s. */
const CONNECT_LIMIT_MS = 2000;
const ALL_SERVERS_LIMIT_MS = 5000;
const KEEP_ALIVE_DELAY_MS = 10_000;

const STATE = "SELECT pg_backend_pid(), current_setting('transaction_read_only')";

export interface Connected {
  readonly session: PostgresSession;
  /** It reaches the server itself, not a pooler that may give each transaction to another process of it. */
  readonly isDirect: boolean;
}

export async function loadPg(): Promise<Pg> {
  return (await loadLibraries("postgres", { pg: () => import("pg") })).pg;
}

/** Where sessions come from. */
export interface SessionSource {
  /**
   * To the server that accepts writes. `BackendUnavailableError` says why there is none; `InvalidRequestError` if the user is
   * refused, or a setting cannot be used.
   */
  connect(signal: AbortSignal): Promise<Connected>;
  /** The server of this session turned out not to be the one: the next attempt begins with another. */
  avoid(session: PostgresSession): void;
}

/** Asks a new session what it has reached. It is destroyed if that is a server that accepts no writes. */
export async function greet(session: PostgresSession, signal: AbortSignal): Promise<Connected> {
  const stopListening = onAbort(signal, () => session.destroy());
  try {
    const [processId, readOnly] = (await session.query(STATE)).rows[0] ?? [];
    if (readOnly === "on") throw Object.assign(new Error("read-only"), { code: "25006" });
    return { session, isDirect: Number(processId) === session.processId };
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    stopListening();
  }
}

/** The servers of the URL, of which one accepts writes at a time. */
export class Servers implements SessionSource {
  readonly #pg: Pg;
  readonly #config: PostgresConfig;
  /** Of the server to try first: the last that accepted writes. */
  #first = 0;

  constructor(pg: Pg, config: PostgresConfig) {
    this.#pg = pg;
    this.#config = config;
  }

  async connect(signal: AbortSignal): Promise<Connected> {
    const { servers } = this.#config;
    const ssl = this.#tls();
    const problems: { readonly server: ServerAddress; readonly error: unknown }[] = [];
    for (let i = 0, first = this.#first; i < servers.length; i++) {
      const index = (first + i) % servers.length;
      const server = servers[index] as ServerAddress;
      try {
        const connected = await this.#connectTo(server, ssl, signal);
        this.#first = index;
        return connected;
      } catch (error) {
        signal.throwIfAborted();
        problems.push({ server, error });
      }
    }
    const reasons = problems
      .map(({ server, error }) => `${serverName(server)}: ${sentence(error)}`)
      .join("; ");
    const errors = problems.map(({ error }) => error);
    const cause = errors.length === 1 ? errors[0] : new AggregateError(errors, reasons);
    if (errors.every(isRefusal))
      throw new InvalidRequestError("store", `is refused by its server (${reasons})`, { cause });
    const next = "check that one of them runs as a primary and can be reached from here";
    throw new BackendUnavailableError(`no PostgreSQL server accepts writes (${reasons}); ${next}`, { cause });
  }

  avoid({ server }: PostgresSession): void {
    const { servers } = this.#config;
    if (servers[this.#first] === server) this.#first = (this.#first + 1) % servers.length;
  }

  async #connectTo(server: ServerAddress, ssl: ClientConfig["ssl"], signal: AbortSignal): Promise<Connected> {
    const client = new this.#pg.Client(this.#clientConfig(server, ssl));
    return greet(await PostgresSession.open(client, server, signal), signal);
  }

  #clientConfig({ host, port }: ServerAddress, ssl: ClientConfig["ssl"]): ClientConfig {
    const { servers, user, password, database, settings } = this.#config;
    return {
      host,
      port,
      user,
      password,
      database,
      ...(ssl === undefined ? {} : { ssl }),
      application_name: settings["application_name"],
      fallback_application_name: "tenure",
      options: settings["options"],
      sslnegotiation: settings["sslnegotiation"] as ClientConfig["sslnegotiation"],
      connectionTimeoutMillis: Math.min(CONNECT_LIMIT_MS, ALL_SERVERS_LIMIT_MS / servers.length),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    };
  }

  /**
   * `pg` reads these settings only from a URL. It reads them again for each connection, so that renewed certificates are used.
   * `undefined`: no setting is given, and the environment decides.
   */
  #tls(): ClientConfig["ssl"] {
    const given = Object.entries(this.#config.settings).filter(([name]) =>
      /^(?:ssl|uselibpqcompat)/.test(name),
    );
    if (given.length === 0) return undefined;
    try {
      return new this.#pg.Client(`postgres://localhost/?${new URLSearchParams(given).toString()}`).ssl;
    } catch (cause) {
      const problem =
        codeOf(cause) === undefined ? sentence(cause) : `a file cannot be read (${codeOf(cause)})`;
      throw new InvalidRequestError("store", `has TLS settings that cannot be used: ${problem}`, { cause });
    }
  }
}
