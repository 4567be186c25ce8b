/** The service as an attacker uses it: raw sockets, TLS sockets and requests, each counted. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { sleep, systemClock } from "@tenure/core";
import type { AttackOptions } from "./messages.test-kit.js";

export interface Asked {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Target {
  readonly options: AttackOptions;
  readonly signal: AbortSignal;
  readonly counts: Record<string, number> = {};
  readonly #sockets = new Set<Socket>();
  readonly #agent: Agent;

  constructor(options: AttackOptions, signal: AbortSignal) {
    this.options = options;
    this.signal = signal;
    // Attackers do not check certificates, and use any number of connections.
    this.#agent = new Agent({ keepAlive: true, ca: options.place.ca });
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  /** An attack must leave processor time to its target, which is on the same machine. */
  async pause(ms: number): Promise<void> {
    await sleep(systemClock, ms, this.signal).catch(() => {});
  }

  /** Resolves when the attack is over. */
  async over(): Promise<void> {
    if (!this.isOver) await once(this.signal, "abort");
  }

  /** A plain connection; `null` if it was refused. */
  async socket(port: number = this.options.place.port): Promise<Socket | null> {
    return this.#opened(connect(port, "127.0.0.1"), "connect");
  }

  async tls(): Promise<TLSSocket | null> {
    const { port, ca } = this.options.place;
    return this.#opened(connectTls({ port, host: "127.0.0.1", ca }), "secureConnect");
  }

  /** Waits until the answer begins; the caller may read its body. `null` if there was none. */
  async ask({ method = "GET", path, token, body, headers }: Asked): Promise<IncomingMessage | null> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = request(this.options.place.url + path, {
      method,
      agent: this.#agent,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      signal: this.signal,
    });
    return new Promise((resolve) => {
      sent.once("error", () => {
        if (!this.isOver) this.count("no answer");
        resolve(null);
      });
      sent.once("response", (response) => {
        this.count(`answered ${response.statusCode}`);
        response.on("error", () => {});
        resolve(response);
      });
      sent.end(text);
    });
  }

  /** Sends a request and reads the answer. */
  async askAndRead(asked: Asked): Promise<void> {
    const response = await this.ask(asked);
    if (response === null) return;
    response.on("data", (chunk: Buffer) => this.count("bytes", chunk.length));
    if (!response.closed) await once(response, "close").catch(() => {});
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
  }

  #opened<S extends Socket>(socket: S, event: "connect" | "secureConnect"): Promise<S | null> {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return new Promise((resolve) => {
      socket.on("error", () => {});
      socket.once("close", () => resolve(null));
      socket.once(event, () => {
        this.count("connections");
        resolve(socket);
      });
    });
  }
}
