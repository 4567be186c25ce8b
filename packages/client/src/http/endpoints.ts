import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Clock } from "@tenure/core";
import type { TlsMaterial, TlsParts } from "./tls-material.js";

/** How long a server that failed is asked last. Short, because it may soon be the only one that works. */
const BAD_MS = 2000;

/** One server of the service, with its connections. */
export class Endpoint {
  readonly url: URL;
  readonly isTls: boolean;
  /** The prefix of the path of every request. */
  readonly prefix: string;
  badUntilMs: number = Number.NEGATIVE_INFINITY;
  #tls: TlsParts | null = null;
  #kept: HttpAgent;
  #single: HttpAgent;

  constructor(url: URL) {
    this.url = url;
    this.isTls = url.protocol === "https:";
    this.prefix = url.pathname.replace(/\/+$/, "");
    this.#kept = this.#agent(true, {});
    this.#single = this.#agent(false, {});
  }

  /** `fresh`: a new connection, which the server cannot have closed before the request arrives. */
  async agent(material: TlsMaterial, fresh: boolean): Promise<HttpAgent> {
    if (this.isTls) {
      const parts = await material.current();
      if (parts !== this.#tls) {
        this.#retire();
        this.#tls = parts;
        this.#kept = this.#agent(true, parts);
        this.#single = this.#agent(false, parts);
      }
    }
    return fresh ? this.#single : this.#kept;
  }

  /** Breaks all open connections. */
  close(): void {
    this.#kept.destroy();
    this.#single.destroy();
  }

  #agent(keepAlive: boolean, parts: TlsParts): HttpAgent {
    return this.isTls ? new HttpsAgent({ keepAlive, ...parts }) : new HttpAgent({ keepAlive });
  }

  /** Requests sent with the old certificate are still answered; then their connections are closed. */
  #retire(): void {
    const old = this.#kept;
    old.maxFreeSockets = 0;
    for (const sockets of Object.values(old.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }
}

/** Which server to ask: the one that answered last, until it fails. */
export class Endpoints {
  readonly all: readonly Endpoint[];
  readonly #clock: Clock;
  #preferred: number;

  /** Each client begins with a random server, so that clients spread over the servers. */
  constructor(urls: readonly URL[], clock: Clock, random: () => number) {
    this.all = urls.map((url) => new Endpoint(url));
    this.#clock = clock;
    this.#preferred = Math.floor(random() * this.all.length) % this.all.length;
  }

  /** Each server once: first the preferred one, then the others in turn, and those that failed recently at the end. */
  inOrder(): readonly Endpoint[] {
    const nowMs = this.#clock.monotonicMs();
    const turned = [...this.all.slice(this.#preferred), ...this.all.slice(0, this.#preferred)];
    const isBad = (each: Endpoint) => nowMs < each.badUntilMs;
    const bad = turned.filter(isBad).toSorted((one, other) => one.badUntilMs - other.badUntilMs);
    return [...turned.filter((each) => !isBad(each)), ...bad];
  }

  /** Time until one of them may be asked again; 0 if one may be asked now. */
  restMs(): number {
    const soonestMs = Math.min(...this.all.map((each) => each.badUntilMs));
    return Math.max(0, soonestMs - this.#clock.monotonicMs());
  }

  worked(endpoint: Endpoint): void {
    endpoint.badUntilMs = Number.NEGATIVE_INFINITY;
    this.#preferred = this.all.indexOf(endpoint);
  }

  failed(endpoint: Endpoint, forMs: number = BAD_MS): void {
    endpoint.badUntilMs = this.#clock.monotonicMs() + forMs;
  }

  close(): void {
    for (const endpoint of this.all) endpoint.close();
  }
}
