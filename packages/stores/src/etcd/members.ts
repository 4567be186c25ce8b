/**
 * The members of the cluster, of which one is used at a time. When its connection has ended, all are tried at once, and the
 * first one that answers and has a leader is used next. So a member that hangs or is cut off costs no time and is not chosen.
 */
import type { ChannelCredentials } from "@grpc/grpc-js";
import { BackendUnavailableError, ClosedError, systemClock } from "@tenure/core";
import { unlessAborted, LinkedController, within } from "@tenure/core/internal";
import { readTlsFiles, type TlsCertificates } from "../tls-files.js";
import { CHANNEL_OPTIONS, Connection } from "./connection.js";
import { messageOf } from "./failures.js";
import { probeHttp2 } from "./http2-probe.js";
import { Login } from "./login.js";
import type { EtcdOptions } from "./options.js";
import type { Protocol } from "./protocol.js";

const CONNECT_LIMIT_MS = 4000;
/** After all members have failed, calls fail at once for this time, instead of opening new connections each. */
const REST_MS = 100;

export class Members {
  readonly #options: EtcdOptions;
  readonly #protocol: Protocol;
  readonly #head: string;
  readonly #login: Login;
  readonly #closing = new AbortController();
  #current: Connection | null = null;
  #connecting: Promise<Connection> | null = null;
  #failure: { readonly error: BackendUnavailableError; readonly untilMs: number } | null = null;
  /** Of the member that was reached first. Members of another cluster are refused. */
  #clusterId: number | null = null;

  constructor(options: EtcdOptions, protocol: Protocol, head: string) {
    this.#options = options;
    this.#protocol = protocol;
    this.#head = head;
    this.#login = new Login(protocol, options.login);
  }

  /** A connection to use now. Rejects with `BackendUnavailableError`, `ClosedError` or the signal's reason. */
  connected(signal?: AbortSignal): Promise<Connection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closing.signal.reason as ClosedError);
    if (this.#current?.isOpen === true) return Promise.resolve(this.#current);
    if (this.#failure !== null && performance.now() < this.#failure.untilMs)
      return Promise.reject(this.#failure.error);
    if (this.#connecting === null) {
      this.#connecting = this.#connect().finally(() => (this.#connecting = null));
      // All callers that wait for it may have gone.
      this.#connecting.catch(() => undefined);
    }
    return unlessAborted(signal, this.#connecting);
  }

  /** Refuses callers that wait for a connection. Requests in flight go on until `close`. */
  stop(): void {
    this.#closing.abort(new ClosedError("the store is closed"));
  }

  async close(): Promise<void> {
    this.stop();
    await this.#connecting?.catch(() => undefined);
    this.#current?.close();
  }

  async #connect(): Promise<Connection> {
    const decided = new LinkedController(this.#closing.signal);
    const limit = { limitMs: CONNECT_LIMIT_MS, signal: decided.signal };
    const attempts = this.#options.endpoints.map((endpoint) =>
      within(systemClock, limit, (signal) => this.#open(endpoint, signal)),
    );
    try {
      this.#current = await Promise.any(attempts);
      this.#clusterId = this.#current.clusterId;
      return this.#current;
    } catch (cause) {
      this.#closing.signal.throwIfAborted();
      const error = this.#noMember(cause as AggregateError);
      this.#failure = { error, untilMs: performance.now() + REST_MS };
      throw error;
    } finally {
      decided.unlink();
      decided.abort();
      await Promise.allSettled(attempts.map(async (attempt) => this.#closeOther(await attempt)));
    }
  }

  async #open(endpoint: string, signal: AbortSignal): Promise<Connection> {
    const tls = this.#options.tls === null ? null : await readTlsFiles(this.#options.tls);
    await probeHttp2(endpoint, tls, signal);
    const credentials = this.#credentials(tls);
    const client = new this.#protocol.grpc.Client(`dns:${endpoint}`, credentials, CHANNEL_OPTIONS);
    const parts = { client, protocol: this.#protocol, login: this.#login, head: this.#head };
    const connection = await Connection.open(parts, signal);
    if (this.#clusterId === null || connection.clusterId === this.#clusterId) return connection;
    connection.close();
    throw new Error("it belongs to another cluster than the member that was used before");
  }

  #credentials(tls: TlsCertificates | null): ChannelCredentials {
    const { credentials } = this.#protocol.grpc;
    if (tls === null) return credentials.createInsecure();
    return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
  }

  #closeOther(connection: Connection): void {
    if (connection !== this.#current) connection.close();
  }

  #noMember(cause: AggregateError): BackendUnavailableError {
    const reasons = this.#options.endpoints.map(
      (endpoint, i) => `${endpoint}: ${messageOf(cause.errors[i])}`,
    );
    const message = `no member of etcd answers and has a leader (${reasons.join("; ")}); check that they run and can be reached`;
    return new BackendUnavailableError(message, { cause });
  }
}
