/** Servers with scripted answers, reached in virtual time. */
import { onAbort } from "@tenure/core/internal";
import { VirtualClock } from "@tenure/core/testing";
import {
  type Answer,
  type Carrier,
  type ExchangeParts,
  type ExchangeRequest,
  NoAnswerError,
  type OpenedStream,
} from "./carrier.js";
import { HttpElector } from "./http-elector.js";
import type { HttpElectorOptions } from "./options.js";

export interface Asked {
  readonly server: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

/** What one server does with a request. A promise that never settles is a server that has stopped answering. */
export interface ScriptedServer {
  answer?: (asked: Asked) => Promise<Answer> | Answer;
  /** Runs before the head of a stream, and then writes the stream. */
  stream?: (asked: Asked, say: (text: string) => void) => Promise<void> | void;
}

/** A server that accepts connections and answers nothing. */
export const FROZEN: ScriptedServer = {
  answer: () => new Promise(() => {}),
  stream: () => new Promise(() => {}),
};

export class ScriptedCarrier implements Carrier {
  readonly clock: VirtualClock = new VirtualClock();
  readonly asked: Asked[] = [];
  readonly servers: Record<string, ScriptedServer>;
  readonly #streams = new Map<string, TextQueue>();
  readonly #silent = new Set<TextQueue>();

  constructor(servers: Record<string, ScriptedServer>) {
    this.servers = servers;
  }

  /** Over all servers, in their order. */
  elector(options: Partial<HttpElectorOptions> = {}): Promise<HttpElector> {
    const endpoints = Object.keys(this.servers).map((name) => `http://${name}`);
    return HttpElector.over(this, { endpoints, clock: this.clock, random: () => 0, ...options });
  }

  /** The last opened stream of this server stays open and sends nothing more, until it is released. */
  silence(server: string, isSilent = true): void {
    const texts = this.#streams.get(server);
    if (texts === undefined) return;
    if (isSilent) this.#silent.add(texts);
    else this.#silent.delete(texts);
  }

  /** Advances virtual time by `durationMs`, then returns the result of `work`. Rejects if `work` has not settled by then. */
  async settled<T>(work: Promise<T>, durationMs: number): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    work.then(settle, settle);
    await this.clock.advance(durationMs);
    if (!isSettled) throw new Error(`not settled after ${durationMs} ms of virtual time`);
    return work;
  }

  exchange(parts: ExchangeParts, request: ExchangeRequest): Promise<Answer> {
    const { server, asked } = this.#ask(parts, request);
    return this.#limited(request, async () => {
      if (server.answer === undefined) throw refused();
      return server.answer(asked);
    });
  }

  async openStream(parts: ExchangeParts, request: ExchangeRequest): Promise<OpenedStream | Answer> {
    const { server, asked } = this.#ask(parts, request);
    const texts = new TextQueue();
    await this.#limited(request, async () => {
      if (server.stream === undefined) throw refused();
      await server.stream(asked, (text) => {
        if (!this.#silent.has(texts)) texts.push(text);
      });
    });
    this.#streams.set(asked.server, texts);
    return { texts, close: () => texts.end() };
  }

  #ask({ endpoint }: ExchangeParts, request: ExchangeRequest): { server: ScriptedServer; asked: Asked } {
    const name = endpoint.url.hostname;
    const body = JSON.parse(request.body ?? "{}") as Asked["body"];
    const asked = { server: name, path: request.path, body, atMs: this.clock.monotonicMs() };
    this.asked.push(asked);
    return { server: this.servers[name] ?? {}, asked };
  }

  #limited<T>({ timeoutMs, signal }: ExchangeRequest, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new NoAnswerError("no answer in time", { isUnsent: false, isStale: false }));
      const cancel = this.clock.after(timeoutMs, late);
      if (signal !== undefined) onAbort(signal, () => reject(signal.reason as Error));
      work().then(resolve, reject).finally(cancel);
    });
  }
}

function refused(): NoAnswerError {
  return new NoAnswerError("ECONNREFUSED", { isUnsent: true, isStale: false });
}

export function ok(body: unknown): Answer {
  return { status: 200, retryAfterMs: null, body };
}

class TextQueue implements AsyncIterable<string> {
  readonly #texts: string[] = [];
  #isOver = false;
  #wake: () => void = () => {};

  push(text: string): void {
    this.#texts.push(text);
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, undefined> {
    for (;;) {
      const text = this.#texts.shift();
      if (text !== undefined) yield text;
      else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
