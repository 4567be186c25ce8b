/**
 * One stream of Server-Sent Events, over a connection like TCP: what the server sends arrives in order. A lost packet
 * is sent again until it arrives, or the connection is lost on the way and nothing arrives any more; the client is
 * notified of neither.
 */
import type { OpenedStream } from "@tenure/client/parts";
import type { ProcessClock, Random } from "@tenure/core/testing";
import type { WatchManyBody } from "@tenure/server/parts";
import type { Environment } from "../environment.js";
import { CallLost } from "../network.js";
import type { ServerProcess, SimServer } from "../sim-server.js";
import type { HttpRequest } from "./sim-service.js";

const DEFAULT_KEEP_ALIVE_MS = 15_000;
/** Among faults a connection lasts this long. */
const CONNECTION_MS = [200, 6000] as const;
const RETRANSMIT_MS = 200;
/** How often a connection that loses something is one that a firewall in between has forgotten. */
const FORGOTTEN_RATE = 0.5;

export interface SimStreamParts {
  readonly environment: Environment;
  /** Of the client. */
  readonly clock: ProcessClock;
  readonly random: Random;
  readonly server: SimServer;
  readonly request: HttpRequest;
}

export class SimStream implements OpenedStream {
  /** Resolves when the server has answered. */
  readonly opened: Promise<void>;
  readonly texts: AsyncIterable<string>;
  readonly #parts: SimStreamParts;
  readonly #received: string[] = [];
  /** Aborted at the server when it learns that the client is gone. */
  readonly #atServer = new AbortController();
  #settle: { readonly open: () => void; readonly fail: (error: Error) => void };
  #wake: () => void = () => {};
  #end: Error | null = null;
  /** Nothing overtakes what was sent before it. */
  #lastArrivalMs = 0;
  /** Sent by the server, but not on its way yet. */
  readonly #unsent: (() => void)[] = [];
  /** `null`: nothing was lost so far. */
  #isForgotten: boolean | null = null;

  constructor(parts: SimStreamParts) {
    this.#parts = parts;
    let settle = { open: (): void => {}, fail: (_: Error): void => {} };
    this.opened = new Promise((resolve, reject) => {
      settle = { open: resolve, fail: reject };
    });
    this.opened.catch(() => {});
    this.#settle = settle;
    this.texts = this.#read();
    parts.clock.pass(() => this.#send(() => this.#arrive()));
    if (parts.environment.network.faults.lossRate > 0)
      this.#toClient(parts.random.between(...CONNECTION_MS), () => this.#finish("connection reset"));
  }

  close(): void {
    this.#finish("closed");
    const { process } = this.#parts.server;
    this.#send(() => process?.clock.pass(() => this.#atServer.abort(new CallLost("hung up"))));
  }

  #arrive(): void {
    const { server } = this.#parts;
    const { process } = server;
    if (process === null) return this.#say(() => this.#finish("connection refused"));
    process.clock.pass(() => {
      const forget = process.onCrash(() => {
        this.#atServer.abort(new CallLost("the server is gone"));
        this.#say(() => this.#finish("connection reset"));
      });
      this.#atServer.signal.addEventListener("abort", forget);
      this.#say(() => this.#settle.open());
      const { watches, keep_alive_ms } = this.#parts.request.body as WatchManyBody;
      for (const { group_id, cursor } of watches) void this.#tell(process, group_id, cursor);
      this.#keepAlive(process, keep_alive_ms ?? DEFAULT_KEEP_ALIVE_MS);
    });
  }

  async #tell(process: ServerProcess, groupId: string, cursor: number | undefined): Promise<void> {
    const { codec } = this.#parts.environment.modules.server;
    const { signal } = this.#atServer;
    try {
      for await (const event of process.elector.watch(groupId, { cursor, signal })) {
        const data = { ...codec.eventShape(groupId, event), number: event.cursor };
        process.clock.pass(() => this.#sayText(`data: ${JSON.stringify(data)}\n\n`));
      }
    } catch {
      // A watch that fails ends the stream; the client comes back.
      process.clock.pass(() => this.#say(() => this.#finish("the stream ended")));
    }
  }

  #keepAlive(process: ServerProcess, everyMs: number): void {
    process.clock.after(everyMs, () => {
      if (this.#atServer.signal.aborted || this.#end !== null) return;
      this.#sayText(":\n\n");
      this.#keepAlive(process, everyMs);
    });
  }

  #sayText(text: string): void {
    this.#say(() => {
      this.#received.push(text);
      this.#wake();
    });
  }

  /** From the client to the server, unless it is lost on the way. */
  #send(callback: () => void): void {
    const { environment, random } = this.#parts;
    if (this.#isLost()) return;
    environment.time.after(random.between(0.5, 15), callback);
  }

  /** From the server to the client. */
  #say(callback: () => void): void {
    if (this.#unsent.push(callback) === 1) this.#transmit();
  }

  #transmit(): void {
    const { environment, random } = this.#parts;
    if (this.#isLost()) {
      this.#isForgotten ??= random.chance(FORGOTTEN_RATE);
      environment.time.after(RETRANSMIT_MS, () => this.#transmit());
      return;
    }
    const nowMs = environment.time.monotonicMs();
    for (const callback of this.#unsent.splice(0)) {
      if (this.#isForgotten === true) continue;
      this.#lastArrivalMs = Math.max(nowMs + random.between(0.5, 15), this.#lastArrivalMs);
      this.#toClient(this.#lastArrivalMs - nowMs, callback);
    }
  }

  #toClient(delayMs: number, callback: () => void): void {
    const { environment, clock } = this.#parts;
    environment.time.after(delayMs, () => clock.pass(callback));
  }

  #isLost(): boolean {
    const { environment, clock, server } = this.#parts;
    return environment.network.isCutOff(clock) || environment.network.isSwallowed(server);
  }

  #finish(how: string): void {
    this.#end ??= new CallLost(how);
    this.#settle.fail(this.#end);
    this.#wake();
  }

  async *#read(): AsyncGenerator<string, undefined> {
    for (;;) {
      const text = this.#received.shift();
      if (text !== undefined) yield text;
      else if (this.#end !== null) throw this.#end;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
