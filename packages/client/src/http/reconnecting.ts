/**
 * A stream over any of the servers, which continues after every break.
 *
 * Pulled: a reader that does not ask slows the connection and costs no memory. The stream ends by throwing: the
 * signal's reason, or a refusal that every server would repeat. A server that is gone, silent or stopping is left for
 * another one.
 */
import { sleep } from "@tenure/core";
import { NoAnswerError } from "./carrier.js";
import type { Endpoint } from "./endpoints.js";
import { EndpointFailure, type TransportParts, unavailable } from "./transport.js";

/** The pause after a round in which no server could be used grows up to `most`. */
export const PAUSE_MS = { first: 100, most: 5000 } as const;

/** Why a connection was given up; another one is opened. */
export class Broken extends Error {
  readonly badForMs: number | undefined;

  constructor(message: string, badForMs?: number, options?: ErrorOptions) {
    super(message, options);
    this.badForMs = badForMs;
  }
}

export interface ReconnectingOptions<T> {
  readonly parts: TransportParts;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** One connection to that server, from where the last one broke. It ends by throwing. */
  readonly connect: (endpoint: Endpoint) => AsyncIterable<T>;
  /** No server could be used; after a pause all of them are tried again. */
  readonly lost: (error: Error) => void;
}

export async function* reconnecting<T>(options: ReconnectingOptions<T>): AsyncGenerator<T, undefined> {
  const { parts, random, signal, connect, lost } = options;
  let pauseMs: number = PAUSE_MS.first;
  for (;;) {
    let askedMs = 0;
    const failures: Error[] = [];
    for (const endpoint of parts.endpoints.inOrder()) {
      try {
        for await (const item of connect(endpoint)) {
          pauseMs = PAUSE_MS.first;
          yield item;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof Broken || error instanceof NoAnswerError)) throw error;
        const badForMs = error instanceof Broken ? error.badForMs : undefined;
        parts.endpoints.failed(endpoint, badForMs);
        askedMs = Math.max(askedMs, badForMs ?? 0);
        failures.push(new EndpointFailure(endpoint, error.message, { cause: error }));
        // Use the best server now, not the one after the best of some time ago.
        if (parts.endpoints.restMs() === 0) break;
      }
    }
    if (parts.endpoints.restMs() === 0) continue;
    lost(unavailable(failures));
    await sleep(parts.clock, Math.max(askedMs, pauseMs * (1 - random() / 2)), signal);
    pauseMs = Math.min(2 * pauseMs, PAUSE_MS.most);
  }
}
