import type { Socket } from "node:net";
import type { CancelTimer, Clock } from "@tenure/core";

/** The type of a TLS record that a handshake begins with, and how long the head of a record is. */
const HANDSHAKE = 0x16;
const HEAD_BYTES = 5;
/** The longest record that TLS allows. */
const MAX_RECORD_BYTES = 2 ** 14;
/**
 * A handshake takes about half a millisecond of processor time until the server has signed, and a renewal takes several turns. More per
 * turn would not finish a crowd of handshakes sooner, because turns follow each other at once.
 */
const MAX_HANDSHAKES_PER_TURN = 1;
const MAX_CLOSED_PER_TURN = 20;

export interface HelloGateDeps {
  readonly clock: Clock;
  /** A connection whose first record has not arrived by then is closed. */
  readonly limitMs: number;
  /** Begins the TLS handshake. The first record is in the buffer of the socket. */
  readonly pass: (socket: Socket) => void;
}

interface Waiting {
  readonly dueMs: number;
  /** A record is short, or it is none: what has arrived is copied with each part of it. */
  arrived: Buffer | null;
}

/**
 * Stands in front of TLS. A connection gets there when its first record, the ClientHello, has arrived completely; one that
 * sends something else, or nothing in time, never does. TLS takes about 40 KB and 100 µs for a connection before its first byte,
 * and more to close it again, so that anybody could hold up a server by connections that are silent.
 *
 * Connections come and go by the thousand in one turn of the event loop, when somebody wants that. A turn begins one
 * handshake and closes a few connections, and the rest waits for the next turn; so do requests, but not for all of it.
 */
export class HelloGate {
  readonly #deps: HelloGateDeps;
  /** In order of arrival. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #complete: TurnQueue<Socket>;
  readonly #ended: TurnQueue<Socket>;
  #cancelSweep: CancelTimer | null = null;

  constructor(deps: HelloGateDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#complete = new TurnQueue(clock, MAX_HANDSHAKES_PER_TURN, (socket) => this.#pass(socket));
    this.#ended = new TurnQueue(clock, MAX_CLOSED_PER_TURN, (socket) => socket.destroy());
  }

  /** Connections that TLS has not seen yet. */
  get waiting(): Iterable<Socket> {
    return this.#waiting.keys();
  }

  add(socket: Socket): void {
    const { clock, limitMs } = this.#deps;
    const waiting: Waiting = { dueMs: clock.monotonicMs() + limitMs, arrived: null };
    this.#waiting.set(socket, waiting);
    // Otherwise Node closes a connection in the turn in which its client does.
    socket.allowHalfOpen = true;
    // The connection is gone then, whatever went wrong with it.
    socket.on("error", () => {});
    socket.once("close", () => this.#remove(socket));
    const look = () => {
      const arrival = read(socket, waiting);
      if (arrival === "partial") return;
      socket.removeListener("readable", look);
      if (arrival === "complete") this.#complete.push(socket);
      else this.#ended.push(socket);
    };
    socket.on("readable", look);
    this.#cancelSweep ??= clock.after(limitMs, () => this.#sweep());
  }

  #pass(socket: Socket): void {
    // Closed while it stood in the queue, by its time limit or by its client.
    if (!this.#remove(socket) || socket.destroyed) return;
    socket.allowHalfOpen = false;
    this.#deps.pass(socket);
  }

  /** A timer without anything to close would hold up a process that ends. */
  #remove(socket: Socket): boolean {
    const isRemoved = this.#waiting.delete(socket);
    if (this.#waiting.size === 0) {
      this.#cancelSweep?.();
      this.#cancelSweep = null;
    }
    return isRemoved;
  }

  #sweep(): void {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    this.#cancelSweep = null;
    for (const [socket, { dueMs }] of this.#waiting) {
      if (dueMs > nowMs) {
        this.#cancelSweep = clock.after(dueMs - nowMs, () => this.#sweep());
        return;
      }
      this.#waiting.delete(socket);
      this.#ended.push(socket);
    }
  }
}

/** Reads what has arrived. A complete record is put back for TLS to read. */
function read(socket: Socket, waiting: Waiting): "partial" | "complete" | "ended" {
  const part = socket.read() as Buffer | null;
  if (part === null) return "ended";
  const all = waiting.arrived === null ? part : Buffer.concat([waiting.arrived, part]);
  waiting.arrived = all;
  if (all[0] !== HANDSHAKE) return "ended";
  if (all.length < HEAD_BYTES) return "partial";
  const length = all.readUInt16BE(HEAD_BYTES - 2);
  if (length > MAX_RECORD_BYTES) return "ended";
  if (all.length < HEAD_BYTES + length) return "partial";
  socket.unshift(all);
  return "complete";
}

/** A queue of work, of which each turn of the event loop does a part. */
class TurnQueue<T> {
  readonly #clock: Clock;
  readonly #perTurn: number;
  readonly #work: (item: T) => void;
  #items: T[] = [];
  #done = 0;

  constructor(clock: Clock, perTurn: number, work: (item: T) => void) {
    this.#clock = clock;
    this.#perTurn = perTurn;
    this.#work = work;
  }

  push(item: T): void {
    if (this.#items.push(item) === 1) this.#clock.soon(() => this.#turn());
  }

  #turn(): void {
    const until = Math.min(this.#done + this.#perTurn, this.#items.length);
    for (; this.#done < until; this.#done++) this.#work(this.#items[this.#done] as T);
    if (this.#done < this.#items.length) {
      this.#clock.soon(() => this.#turn());
      return;
    }
    this.#items = [];
    this.#done = 0;
  }
}
