/**
 * Carries requests to the servers: over sockets (`exchange.ts`), or in a simulation over a network in virtual time.
 * Everything above it (which server is asked, for how long, and what follows from silence) is the same code for both.
 */
import type { Clock } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import type { TlsMaterial } from "./tls-material.js";

export interface Carrier {
  /** One request to one server. Rejects with `NoAnswerError`, or with the signal's reason. */
  exchange(parts: ExchangeParts, request: ExchangeRequest): Promise<Answer>;
  /** The same, where a stream of that content type may come instead; the caller reads and closes it. */
  openStream(parts: ExchangeParts, request: ExchangeRequest, type: string): Promise<OpenedStream | Answer>;
}

export interface ExchangeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Time limit until the head of the answer, and for `exchange` until the whole answer. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** Use a new connection. */
  readonly fresh?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface ExchangeParts {
  readonly endpoint: Endpoint;
  readonly tls: TlsMaterial;
  readonly clock: Clock;
}

export interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | null;
  /** Parsed JSON; `undefined` where the answer is something else. */
  readonly body: unknown;
}

export interface OpenedStream {
  /** Ends or throws when the connection does. */
  readonly texts: AsyncIterable<string>;
  /** Idempotent. */
  close(): void;
}

/** No complete answer arrived. */
export class NoAnswerError extends Error {
  /** Nothing of the request can have reached the server. */
  readonly isUnsent: boolean;
  /** Most likely the server closed the idle connection before it saw the request. */
  readonly isStale: boolean;

  constructor(message: string, how: { isUnsent: boolean; isStale: boolean }, options?: ErrorOptions) {
    super(message, options);
    this.isUnsent = how.isUnsent;
    this.isStale = how.isStale;
  }
}
