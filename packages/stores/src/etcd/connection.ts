/**
 * One connection to one member, from its first answer to its end. It never reconnects. The retries of the gRPC library are switched
 * off: it sends no call twice, and a call without a connection fails at once instead of waiting for one.
 *
 * A member may hang, or be cut off from the others, while its connection looks healthy. So a call that gets no answer has the
 * member checked, and a connection that fails the check ends with all of its calls. The pings of the library cannot do
 * that: etcd closes connections that ping more often than every five seconds.
 */
import { scheduler } from "node:timers/promises";
import type { Client, ClientDuplexStream, Metadata, MethodDefinition, ServiceError } from "@grpc/grpc-js";
import type { Revision } from "@tenure/core";
import { onAbort, unlessAborted } from "@tenure/core/internal";
import { CallFailure, isRefusal, unavailable } from "./failures.js";
import type { Login } from "./login.js";
import type { Protocol, RangeResponse, WatchRequest, WatchResponse } from "./protocol.js";

export interface ConnectionParts {
  /** Belongs to the connection from here on. */
  readonly client: Client;
  readonly protocol: Protocol;
  readonly login: Login;
  /** The key whose revision is that of the last batch. */
  readonly head: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly limitMs?: number;
  readonly requireLeader?: boolean;
}

interface Cancelable {
  cancel(): void;
}

/** Shorter than the timeout of etcd itself (seven seconds): etcd sees the cancelled call, and drops it if it has not proposed it yet. */
const CALL_LIMIT_MS = 5000;
/** An election within etcd takes one to two seconds, during which its members say that they have no leader. */
const CHECKS = 3;
const CHECK_MS = 1000;

export const CHANNEL_OPTIONS = {
  "grpc.enable_retries": 0,
  "grpc.service_config_disable_resolution": 1,
  // Else the stores of a process would share connections.
  "grpc.use_local_subchannel_pool": 1,
  // Web proxies, which the environment may name for other reasons.
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  // A page of a snapshot is as large as its entries.
  "grpc.max_receive_message_length": -1,
} as const;

export class Connection {
  readonly #parts: ConnectionParts;
  readonly #underWay = new Set<Cancelable>();
  readonly #ended = new AbortController();
  #checking: Promise<Revision> | null = null;
  #clusterId = 0;

  private constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** Resolves once the member has shown that it serves; else nothing is left open. */
  static async open(parts: ConnectionParts, signal: AbortSignal): Promise<Connection> {
    const connection = new Connection(parts);
    try {
      // Linearizable: a member that cannot reach a quorum, or that only learns, is of no use.
      const { header } = await connection.#readHead({ signal }, false);
      connection.#clusterId = header.cluster_id;
      connection.#followState();
      return connection;
    } catch (cause) {
      connection.close();
      throw cause;
    }
  }

  get isOpen(): boolean {
    return !this.#ended.signal.aborted;
  }

  get clusterId(): number {
    return this.#clusterId;
  }

  /**
   * One call, sent once; a second time only if etcd refused it for want of a login, and so did not execute it. Rejects
   * with `CallFailure`, or with the signal's reason, in which case what was sent is cancelled and may still happen.
   */
  async ask<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    options: AskOptions = {},
  ): Promise<Response> {
    try {
      return await this.#askLoggedIn(method, request, options);
    } catch (cause) {
      if (!isRefusal(cause)) this.check().catch(() => undefined);
      throw cause;
    }
  }

  /** The revision of the last batch that this member knows of. If it cannot be had, the connection has ended. */
  check(): Promise<Revision> {
    this.#checking ??= this.#check().finally(() => (this.#checking = null));
    return this.#checking;
  }

  /** A stream of watches, which etcd ends when the member has had no leader for some seconds. */
  watch(): ClientDuplexStream<WatchRequest, WatchResponse> {
    if (!this.isOpen) throw notSent();
    const { client, protocol, login } = this.#parts;
    const { path, requestSerialize, responseDeserialize } = protocol.watch;
    const metadata = login.metadata(true);
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    this.#underWay.add(stream);
    stream.once("status", () => this.#underWay.delete(stream));
    return stream;
  }

  /** The next call does without a token, and asks for another if that is refused. */
  forgetLogin(): void {
    this.#parts.login.forget();
  }

  /** Ends what is under way. */
  close(): void {
    this.#leave();
    for (const each of this.#underWay) each.cancel();
  }

  async #check(): Promise<Revision> {
    for (let attempt = 1; ; attempt++) {
      const sentAtMs = performance.now();
      try {
        const { kvs } = await this.#readHead({ limitMs: CHECK_MS }, true);
        return kvs[0]?.mod_revision ?? 0;
      } catch (cause) {
        if (attempt === CHECKS || !this.isOpen) {
          this.close();
          throw unavailable(cause);
        }
        const restMs = CHECK_MS - (performance.now() - sentAtMs);
        if (restMs > 0) await scheduler.wait(restMs, { signal: this.#ended.signal }).catch(() => undefined);
      }
    }
  }

  #readHead(options: AskOptions, serializable: boolean): Promise<RangeResponse> {
    const request = { key: this.#parts.head, serializable };
    return this.#askLoggedIn(this.#parts.protocol.range, request, { ...options, requireLeader: true });
  }

  async #askLoggedIn<Request, Response>(
    method: MethodDefinition<Request, Response>,
    request: Request,
    { signal, limitMs = CALL_LIMIT_MS, requireLeader = false }: AskOptions,
  ): Promise<Response> {
    const { login } = this.#parts;
    const { token } = login;
    try {
      return await this.#send(method, request, login.metadata(requireLeader), limitMs, signal);
    } catch (refusal) {
      if (!login.isPossible || !(refusal instanceof CallFailure && refusal.asksForLogin)) throw refusal;
      try {
        await unlessAborted(signal, this.#renewLogin(token));
      } catch (cause) {
        // Whatever is thrown must tell that nothing was executed.
        throw isRefusal(cause) ? cause : refusal;
      }
      return this.#send(method, request, login.metadata(requireLeader), limitMs, signal);
    }
  }

  #renewLogin(refused: string | null): Promise<void> {
    const { login, protocol } = this.#parts;
    return login.renew(refused, (name, password, metadata) =>
      this.#send(protocol.authenticate, { name, password }, metadata, CALL_LIMIT_MS),
    );
  }

  #send<Request, Response>(
    { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
    request: Request,
    metadata: Metadata,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<Response> {
    if (!this.isOpen) return Promise.reject(notSent());
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const settle = (error: ServiceError | null, response?: Response): void => {
        this.#underWay.delete(call);
        stopListening();
        if (error === null) resolve(response as Response);
        else reject(new CallFailure(error.details, error.code, { cause: error }));
      };
      const options = { deadline: Date.now() + limitMs };
      const { client } = this.#parts;
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        settle,
      );
      this.#underWay.add(call);
      const stopListening = onAbort(signal, () => {
        reject(signal?.reason as Error);
        call.cancel();
      });
    });
  }

  /** What breaks, or what the member asks us to leave, is not used again; what is under way may still end well. */
  #followState(): void {
    const channel = this.#parts.client.getChannel();
    const { READY } = this.#parts.protocol.grpc.connectivityState;
    if (channel.getConnectivityState(false) !== READY) this.#leave();
    else channel.watchConnectivityState(READY, Number.POSITIVE_INFINITY, () => this.#leave());
  }

  #leave(): void {
    if (!this.isOpen) return;
    this.#ended.abort();
    this.#parts.client.close();
  }
}

function notSent(): CallFailure {
  return new CallFailure("the connection has ended", "not sent");
}
