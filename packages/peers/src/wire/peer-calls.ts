/**
 * Calls to other servers, with this server's own certificate. The server that answers must show a server certificate of
 * the same trust domain; host names are not checked, so a server may move.
 *
 * A call that is given up leaves its connection open for a while: under load a closed connection costs a handshake,
 * which makes the next call late as well. A connection without an answer for longer than that is cut off from the
 * network, and is closed.
 */
import type { IncomingMessage } from "node:http";
import { request as httpRequest } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import type { Clock } from "@tenure/core";
import { isObject, onAbort, within } from "@tenure/core/internal";
import { spiffeNameOf } from "../certificates/spiffe.js";

export interface CallTls {
  readonly cert: Buffer | string;
  readonly key: Buffer | string;
  readonly ca: Buffer | string | undefined;
  /** Revocation lists: a server whose certificate they name is not called, and its answers are ignored. */
  readonly lists?: readonly { readonly pem: string }[] | undefined;
}

export interface PeerCallsOptions {
  readonly clock: Clock;
  readonly lingerMs: number;
  readonly trustDomain: string | null;
  /** `null`: without TLS, if a server calls only itself. */
  readonly tls: CallTls | null;
}

export interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface CallAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The identity of the server that answered, from its certificate. */
  readonly identity: string | null;
}

/** There was an answer, but not the expected one. */
export class RefusedCallError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(endpoint: string, { status, body }: CallAnswer) {
    const code = typeof body["error"] === "string" ? body["error"] : "unknown";
    const detail = typeof body["detail"] === "string" ? `: ${body["detail"]}` : "";
    super(`${endpoint} answered ${status} ${code}${detail}`);
    this.status = status;
    this.code = code;
    this.body = body;
  }
}

/** How many leases a call may take if its receiver may have to ask every member in turn. */
export const CALL_LEASES = 4;

/** A longer answer is refused. ASCII only, so characters are bytes. */
export const MAX_ANSWER_BYTES: number = 1024 * 1024;

export class PeerCalls {
  readonly #options: PeerCallsOptions;
  readonly #identities = new WeakMap<object, string>();
  #agent: Agent | null;
  #revoked: string;

  constructor(options: PeerCallsOptions) {
    this.#options = options;
    this.#agent = agentFor(options.tls);
    this.#revoked = revokedBy(options.tls);
  }

  /**
   * New connections use these. Requests in progress on the old connections have a while to be answered, unless the
   * revocation lists have changed: the old connections may be to a server that is no longer trusted.
   */
  use(tls: CallTls): void {
    const old = this.#agent;
    this.#agent = agentFor(tls);
    const isSame = revokedBy(tls) === this.#revoked;
    this.#revoked = revokedBy(tls);
    if (old === null) return;
    if (isSame) this.#options.clock.after(this.#options.lingerMs, () => old.destroy());
    else old.destroy();
  }

  close(): void {
    this.#agent?.destroy();
  }

  /** Like `send`, but rejects if there is no answer within `limitMs`. */
  sendWithin(limitMs: number, endpoint: string, call: Call): Promise<CallAnswer> {
    const limit = { limitMs, signal: call.signal };
    return within(this.#options.clock, limit, (signal) => this.send(endpoint, { ...call, signal }));
  }

  /** The answer, whatever its status; rejects if there is none. */
  send(endpoint: string, { method, path, body, headers, signal }: Call): Promise<CallAnswer> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const options = {
        method,
        headers: {
          ...headers,
          ...(payload === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
        },
      };
      const sent =
        this.#agent === null
          ? httpRequest(endpoint + path, options)
          : httpsRequest(endpoint + path, { ...options, agent: this.#agent });
      let cancelLinger = (): void => {};
      const stopListening = onAbort(signal, () => {
        cancelLinger = this.#options.clock.after(this.#options.lingerMs, () => sent.destroy());
        reject(signal?.reason as Error);
      });
      const settle = (): void => {
        stopListening();
        cancelLinger();
      };
      sent.once("close", settle);
      sent.once("error", reject);
      sent.once("response", (response: IncomingMessage) => {
        this.#read(endpoint, response).then(resolve, (error: unknown) => {
          sent.destroy();
          reject(error);
        });
      });
      sent.end(payload);
    });
  }

  /** The body of an answer with status 200; any other answer rejects. */
  async ask(endpoint: string, call: Call): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.send(endpoint, call);
    if (answer.status !== 200) throw new RefusedCallError(endpoint, answer);
    return answer.body;
  }

  async #read(endpoint: string, response: IncomingMessage): Promise<CallAnswer> {
    // Before the end of the answer, because the socket is released with it.
    const identity = this.#agent === null ? null : this.#identityOf(endpoint, response.socket as TLSSocket);
    let text = "";
    response.setEncoding("utf8");
    for await (const chunk of response) {
      text += chunk as string;
      if (text.length > MAX_ANSWER_BYTES)
        throw new Error(`${endpoint} answered more than ${MAX_ANSWER_BYTES} bytes`);
    }
    const body: unknown = JSON.parse(text);
    if (!isObject(body)) throw new Error(`${endpoint} did not answer with a JSON object`);
    return { status: response.statusCode ?? 0, body, identity };
  }

  #identityOf(endpoint: string, socket: TLSSocket): string {
    const known = this.#identities.get(socket);
    if (known !== undefined) return known;
    const certificate = socket.getPeerX509Certificate();
    const owner = certificate === undefined ? null : spiffeNameOf(certificate);
    if (owner?.kind !== "server" || owner.trustDomain !== this.#options.trustDomain) {
      throw new Error(
        `${endpoint} shows no certificate of a server of ${this.#options.trustDomain ?? "a trust domain"}`,
      );
    }
    this.#identities.set(socket, owner.name);
    return owner.name;
  }
}

function revokedBy(tls: CallTls | null): string {
  return (tls?.lists ?? []).map(({ pem }) => pem).join();
}

function agentFor(tls: CallTls | null): Agent | null {
  if (tls === null) return null;
  return new Agent({
    keepAlive: true,
    // A resumed session shows no certificate, to neither side.
    maxCachedSessions: 0,
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.lists === undefined || tls.lists.length === 0 ? {} : { crl: tls.lists.map(({ pem }) => pem) }),
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    // The URI in the certificate identifies the server; its host name is not part of the identity.
    checkServerIdentity: () => undefined,
  });
}
