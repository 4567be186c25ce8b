/**
 * What carries requests to the servers: sockets (`exchange.ts`), or in a simulation a network in virtual time. Everything
 * above it, which server is asked, for how long and what follows from silence, is the same code over both.
 */
import type { Clock } from "@tenure/core";
import type { Endpoint } from "./endpoints.js";
import type { TlsMaterial } from "./tls-material.js";

export interface Carrier {
  /** One request to one server. Rejects with `NoAnswerError`, or with the signal's reason. */
  exchange(parts: ExchangeParts, request: ExchangeRequest): Promise<Answer>;
  /** The same, where a stream of that content type may come instead: the caller reads it, and closes it. */
  openStream(parts: ExchangeParts, request: ExchangeRequest, type: string): Promise<OpenedStream | Answer>;
}

export interface ExchangeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Until the head of the answer, and of `exchange` the whole answer. */
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  /** On a connection of its own. */
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
  /** Ends, or throws, with the connection. */
  readonly texts: AsyncIterable<string>;
  /** Idempotent. */
  close(): void;
}

/** No whole answer came. */
export class NoAnswerError extends Error {
  /** Nothing of the request can have reached the server. */
  readonly isUnsent: boolean;
  /** The server had closed the idle connection before it saw the request, most likely. */
  readonly isStale: boolean;

  constructor(message: string, how: { isUnsent: boolean; isStale: boolean }, options?: ErrorOptions) {
    super(message, options);
    this.isUnsent = how.isUnsent;
    this.isStale = how.isStale;
  }
}
