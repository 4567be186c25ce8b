/**
 * A call to the service, answered by any of its servers: one request at a time for one call.
 *
 * A server that cannot be reached, does not answer in its share of the time, or answers 5xx is left for the next one,
 * if the request may be sent again. A server that has not answered when the caller's own time limit ends the call is
 * asked last by the next call. What every server would answer (a refusal) is the answer. If a token is refused, another
 * one is requested once. After 429 the call waits for the time that the server asks for, if it has the time.
 */
import { BackendUnavailableError, type Clock, sleep } from "@tenure/core";
import { type Answer, type Carrier, NoAnswerError } from "./carrier.js";
import type { Credentials } from "./credentials.js";
import type { Endpoint, Endpoints } from "./endpoints.js";
import { isRefusal, RateLimitedError, UnexpectedAnswerError } from "./errors.js";
import type { TlsMaterial } from "./tls-material.js";

/**
 * `freely`: also if the first request may have been carried out. `unsent`: only if it cannot have reached a server.
 */
export type Resend = "freely" | "unsent";

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** Called for each attempt, with the time since the call began. */
  readonly body?: ((elapsedMs: number) => unknown) | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly resend: Resend;
  /** Time limit of the whole call. The servers still to be asked share what is left of it. */
  readonly timeoutMs: number;
  /** How long the server was asked to wait before it answers. */
  readonly waitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer other than 5xx and 429, and the time from the beginning of the call to the sending of that request. */
export interface Answered extends Answer {
  readonly endpoint: Endpoint;
  readonly sentAfterMs: number;
}

export interface TransportParts {
  readonly carrier: Carrier;
  readonly endpoints: Endpoints;
  readonly credentials: Credentials;
  readonly tls: TlsMaterial;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
}

export class Transport {
  readonly parts: TransportParts;

  constructor(parts: TransportParts) {
    this.parts = parts;
  }

  /** Rejects with `BackendUnavailableError` if no server answered; its cause says what each of them did. */
  async call(call: Call): Promise<Answered> {
    const { endpoints, clock } = this.parts;
    const startedMs = clock.monotonicMs();
    const failures: EndpointFailure[] = [];
    const order = endpoints.inOrder();
    for (const [index, endpoint] of order.entries()) {
      const attempt = new Attempt(this.parts, call, endpoint, startedMs, order.length - index);
      try {
        const answered = await attempt.run();
        const problem = brokenBy(answered);
        if (problem === null) {
          endpoints.worked(endpoint);
          return answered;
        }
        endpoints.failed(endpoint, answered.retryAfterMs || undefined);
        failures.push(new EndpointFailure(endpoint, problem));
        if (call.resend === "unsent") break;
      } catch (error) {
        if (!(error instanceof NoAnswerError)) {
          // A server that was asked after another one had used up the time has not had its share of it.
          const hadTime = attempt.hasSent && failures.length === 0;
          if (hadTime && isTimeLimit(call.signal)) endpoints.failed(endpoint);
          throw error;
        }
        endpoints.failed(endpoint);
        failures.push(new EndpointFailure(endpoint, error.message, { cause: error }));
        if (call.resend === "unsent" && !error.isUnsent) break;
      }
    }
    throw unavailable(failures);
  }

  close(): void {
    this.parts.endpoints.close();
  }
}

/** One server's turn: as many requests in sequence as it takes to be admitted. */
class Attempt {
  readonly #parts: TransportParts;
  readonly #call: Call;
  readonly #endpoint: Endpoint;
  readonly #startedMs: number;
  /** The servers still to be asked, including this one. */
  readonly #shares: number;
  hasSent = false;

  constructor(parts: TransportParts, call: Call, endpoint: Endpoint, startedMs: number, shares: number) {
    this.#parts = parts;
    this.#call = call;
    this.#endpoint = endpoint;
    this.#startedMs = startedMs;
    this.#shares = shares;
  }

  async run(): Promise<Answered> {
    const { credentials, clock } = this.#parts;
    const { signal } = this.#call;
    const wait = () => ({ timeoutMs: this.#shareMs(clock.monotonicMs() - this.#startedMs), signal });
    let token = await credentials.token(wait());
    let hasAskedAgain = false;
    let fresh = this.#call.resend === "unsent";
    for (;;) {
      try {
        const answered = await this.#send(token, fresh);
        if (answered.status === 401 && !hasAskedAgain) {
          hasAskedAgain = true;
          const another = await credentials.anotherThan(token, wait());
          if (another === null) return answered;
          token = another;
        } else if (answered.status === 429 && codeOf(answered) === "RATE_LIMITED") {
          await this.#rest(answered, clock);
        } else {
          return answered;
        }
      } catch (error) {
        // An idle connection that the server had closed shows nothing about the server.
        if (!(error instanceof NoAnswerError) || !error.isStale || fresh) throw error;
        fresh = true;
      }
    }
  }

  async #send(token: string | null, fresh: boolean): Promise<Answered> {
    const { carrier, clock, tls, connectTimeoutMs } = this.#parts;
    const { method, path, body, headers, signal } = this.#call;
    const sentAfterMs = clock.monotonicMs() - this.#startedMs;
    const answerMs = this.#answerMs(sentAfterMs);
    const timeoutMs = this.#shareMs(sentAfterMs);
    if (timeoutMs <= 0) {
      throw new NoAnswerError("the call had no time left", { isUnsent: true, isStale: false });
    }
    const content = body === undefined ? undefined : JSON.stringify(body(sentAfterMs));
    this.hasSent = true;
    const answer = await carrier.exchange(
      { endpoint: this.#endpoint, tls, clock },
      {
        method,
        path,
        body: content,
        headers: {
          accept: "application/json",
          ...(content === undefined ? {} : { "content-type": "application/json" }),
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        timeoutMs,
        // The wait does not count for the connection.
        connectTimeoutMs: Math.min(connectTimeoutMs, Math.max(1, answerMs)),
        fresh,
        signal,
      },
    );
    return { ...answer, endpoint: this.#endpoint, sentAfterMs };
  }

  #shareMs(elapsedMs: number): number {
    return this.#waitLeftMs(elapsedMs) + this.#answerMs(elapsedMs);
  }

  #waitLeftMs(elapsedMs: number): number {
    return Math.max(0, (this.#call.waitMs ?? 0) - elapsedMs);
  }

  /** An equal part of the time left, beyond the wait, for each server still to be asked. */
  #answerMs(elapsedMs: number): number {
    const { timeoutMs, waitMs = 0 } = this.#call;
    return (timeoutMs + waitMs - elapsedMs - this.#waitLeftMs(elapsedMs)) / this.#shares;
  }

  async #rest(answered: Answered, clock: Clock): Promise<void> {
    const { timeoutMs, waitMs = 0, signal } = this.#call;
    const retryAfterMs = answered.retryAfterMs ?? 1000;
    const leftMs = this.#startedMs + timeoutMs + waitMs - clock.monotonicMs();
    if (retryAfterMs >= leftMs) throw new RateLimitedError(messageOf(answered), retryAfterMs);
    await sleep(clock, retryAfterMs, signal);
  }
}

/** Whether the caller gave the call up because it took too long, and not because it is no longer needed. */
function isTimeLimit(signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  const reason: unknown = signal.reason;
  return (
    reason instanceof BackendUnavailableError || (reason instanceof Error && reason.name === "TimeoutError")
  );
}

/** What one server did, with its name. */
export class EndpointFailure extends Error {
  constructor(endpoint: Endpoint, problem: string, options?: ErrorOptions) {
    super(`${endpoint.url.origin}: ${problem}`, options);
  }
}

export function unavailable(failures: readonly Error[]): BackendUnavailableError {
  const said = failures.map(({ message }) => message).join("; ");
  const cause = new AggregateError(failures, said);
  return new BackendUnavailableError(`no server of the service answered (${said})`, { cause });
}

/** Why this answer concerns the server that gave it, and not the request; `null` if it does not. */
export function brokenBy(answer: Answer): string | null {
  // This server holds as many waits as it can; another server may have room.
  if (answer.status < 500 && codeOf(answer) !== "TOO_MANY_WAITING") return null;
  return `${answer.status} ${messageOf(answer)}`;
}

function codeOf({ body }: Answer): string | null {
  return isRefusal(body) ? body.error : null;
}

function messageOf({ status, body }: Answer): string {
  return isRefusal(body) ? body.message : `an answer of ${status} that is not of a Tenure service`;
}

/** The body of the answer; throws if it is not what was expected. */
export function bodyOf<T>({ status, body, endpoint }: Answered): T {
  if (status >= 200 && status < 300 && body !== undefined) return body as T;
  throw new UnexpectedAnswerError(
    `${endpoint.url.origin} answered ${status}, which is not an answer of a Tenure service`,
  );
}
