/**
 * Calls from clients to servers: delayed, late, lost, duplicated. A client that gives up closes its connection, which
 * its server learns a little later, unless the request came by a proxy that keeps the connection open. A request that
 * was sent arrives even if its connection was closed meanwhile: TCP delivers the data before the end.
 */
import type { CallOptions, CampaignRequest, ElectorAdmin } from "@tenure/core";
import type { ProcessClock, Random, VirtualClock } from "@tenure/core/testing";
import type { OpenRequest } from "./checks/check.js";
import type { SimServer } from "./sim-server.js";
import type { WaitingRooms } from "./waiting-rooms.js";

/** The call ended without an answer: timeout, connection lost, cancelled. */
export class CallLost extends Error {}

export interface NetworkFaults {
  lossRate: number;
  duplicateRate: number;
  lateRate: number;
  slowRate: number;
}

/** One arrival of a request at a server: a duplicate is another one. */
export interface Arrival {
  readonly number: number;
}

export interface NetworkCall<T> {
  readonly from: ProcessClock;
  readonly server: SimServer;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** How long the server may wait by itself before it answers; a campaign says so. */
  readonly waitMs?: number;
  /** For a campaign: so that checkers know which candidate waits where. */
  readonly campaign?: CampaignRequest;
  readonly run: (elector: ElectorAdmin, options: CallOptions, arrival: Arrival) => Promise<T>;
  /** At the server, in true time, whether or not the answer ever arrives. */
  readonly onAnswer?: (value: T, arrivedMs: number, answeredMs: number, arrival: Arrival) => void;
  readonly onError?: (error: unknown, arrivedMs: number, answeredMs: number, arrival: Arrival) => void;
}

const LATEST_MS = 3000;
const PROXY_RATE = 0.5;

export class Network {
  readonly faults: NetworkFaults = { lossRate: 0.03, duplicateRate: 0.03, lateRate: 0.03, slowRate: 0.03 };
  /** No request arrives later than this, however late it is: faults end. */
  lastArrivalMs: number = Number.POSITIVE_INFINITY;
  readonly #time: VirtualClock;
  readonly #random: Random;
  readonly #rooms: WaitingRooms;
  /** Requests that have arrived and are not answered. */
  readonly requests: Set<OpenRequest> = new Set();
  readonly #connections = new Map<ProcessClock, Set<Connection>>();
  /** Until when nothing that a process sends arrives, nor anything that is sent to it. */
  readonly #cutOffUntilMs = new WeakMap<ProcessClock, number>();
  /** Until when nothing that is sent to a server arrives, nor anything that it sends. */
  readonly #swallowedUntilMs = new WeakMap<SimServer, number>();
  #arrivals = 0;

  constructor(time: VirtualClock, random: Random, rooms: WaitingRooms) {
    this.#time = time;
    this.#random = random;
    this.#rooms = rooms;
  }

  /** The process is gone, and its machine closes its connections. */
  hangUp(from: ProcessClock): void {
    for (const connection of this.#connections.get(from) ?? []) connection.close();
    this.#connections.delete(from);
  }

  cutOff(from: ProcessClock, forMs: number): void {
    this.#cutOffUntilMs.set(from, this.#time.monotonicMs() + forMs);
  }

  isCutOff(from: ProcessClock): boolean {
    return (this.#cutOffUntilMs.get(from) ?? 0) > this.#time.monotonicMs();
  }

  /** Like a firewall that drops unknown connections without a reset. */
  swallow(server: SimServer, forMs: number): void {
    this.#swallowedUntilMs.set(server, this.#time.monotonicMs() + forMs);
  }

  isSwallowed(server: SimServer): boolean {
    return (this.#swallowedUntilMs.get(server) ?? 0) > this.#time.monotonicMs();
  }

  call<T>(call: NetworkCall<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const connection = new Connection(
        this.#time,
        () => this.#delay(),
        () => this.lastArrivalMs,
      );
      const open = this.#connections.get(call.from) ?? new Set<Connection>();
      this.#connections.set(call.from, open.add(connection));
      let settled = false;
      const settle = (how: () => void) => {
        if (settled) return;
        settled = true;
        cancelTimeout();
        call.signal?.removeEventListener("abort", abort);
        open.delete(connection);
        call.from.pass(() => connection.close());
        how();
      };
      const abort = () => settle(() => reject(new CallLost("cancelled")));
      const cancelTimeout = call.from.after(call.timeoutMs, () =>
        settle(() => reject(new CallLost("timeout"))),
      );
      if (call.signal?.aborted === true) return abort();
      call.signal?.addEventListener("abort", abort, { once: true });

      const answer = (how: () => void) => {
        if (this.#random.chance(this.faults.lossRate) || this.#isLost(call)) return;
        this.#time.after(this.#delay(), () => call.from.pass(() => settle(how)));
      };
      const arrive = (isDuplicate: boolean, throughProxy: boolean) => {
        this.#arrive(call, connection, throughProxy, (result) => {
          if (isDuplicate) return;
          answer(result.ok ? () => resolve(result.value) : () => reject(result.error));
        });
      };
      call.from.pass(() => {
        if (!this.#isLost(call)) this.#send(arrive);
      });
    });
  }

  #isLost<T>({ from, server }: NetworkCall<T>): boolean {
    return this.isCutOff(from) || this.isSwallowed(server);
  }

  #send(arrive: (isDuplicate: boolean, throughProxy: boolean) => void): void {
    const { lossRate, duplicateRate, lateRate } = this.faults;
    if (!this.#random.chance(lossRate)) {
      const isLate = this.#random.chance(lateRate);
      const delayMs = this.#until(isLate ? this.#random.between(0, LATEST_MS) : this.#delay());
      const throughProxy = isLate && this.#random.chance(PROXY_RATE);
      this.#time.after(delayMs, () => arrive(false, throughProxy));
    }
    if (this.#random.chance(duplicateRate)) {
      const throughProxy = this.#random.chance(PROXY_RATE);
      this.#time.after(this.#until(this.#random.between(0, LATEST_MS)), () => arrive(true, throughProxy));
    }
  }

  /** How long one message travels. */
  #delay(): number {
    return this.#random.chance(this.faults.slowRate)
      ? this.#random.between(15, 500)
      : this.#random.between(0.5, 15);
  }

  #until(delayMs: number): number {
    return Math.min(delayMs, Math.max(20, this.lastArrivalMs - this.#time.monotonicMs()));
  }

  #arrive<T>(
    call: NetworkCall<T>,
    connection: Connection,
    throughProxy: boolean,
    done: (result: { ok: true; value: T } | { ok: false; error: unknown }) => void,
  ): void {
    const process = call.server.process;
    if (process === null) return done({ ok: false, error: new CallLost("connection refused") });
    process.clock.pass(() => {
      const arrivedMs = this.#time.monotonicMs();
      const arrival: Arrival = { number: ++this.#arrivals };
      const line = connection.open(process.clock, throughProxy);
      const forgetCrash = process.onCrash(() => {
        forget();
        done({ ok: false, error: new CallLost("connection reset") });
      });
      const standing =
        call.campaign === undefined ? undefined : this.#rooms.enter(call.server, call.campaign);
      line.controller.signal.addEventListener("abort", () => {
        if (standing !== undefined) standing.goneAtMs = this.#time.monotonicMs();
      });
      const { server, waitMs = call.campaign?.waitMs ?? 0 } = call;
      const request: OpenRequest = { server, waitMs, runningMs: 0 };
      this.requests.add(request);
      const forget = () => {
        this.requests.delete(request);
        if (standing !== undefined) this.#rooms.leave(standing);
        forgetCrash();
        connection.forget(line);
      };
      // The answer leaves when the server has sent it, which a stop at a reading of its clock delays.
      const options = { signal: line.controller.signal };
      call.run(process.elector, options, arrival).then(
        (value) =>
          process.clock.pass(() => {
            forget();
            call.onAnswer?.(value, arrivedMs, this.#time.monotonicMs(), arrival);
            done({ ok: true, value });
          }),
        (error: unknown) =>
          process.clock.pass(() => {
            forget();
            call.onError?.(error, arrivedMs, this.#time.monotonicMs(), arrival);
            done({ ok: false, error });
          }),
      );
    });
  }
}

/** One request on its connection, as its server sees it. */
interface Line {
  readonly controller: AbortController;
  readonly clock: ProcessClock;
  /** The proxy keeps its own connection to the server open, whatever the client does, until the faults have ended. */
  readonly throughProxy: boolean;
}

class Connection {
  readonly #time: VirtualClock;
  readonly #delay: () => number;
  readonly #faultsEndMs: () => number;
  readonly #lines = new Set<Line>();
  isClosed = false;

  constructor(time: VirtualClock, delay: () => number, faultsEndMs: () => number) {
    this.#time = time;
    this.#delay = delay;
    this.#faultsEndMs = faultsEndMs;
  }

  open(clock: ProcessClock, throughProxy: boolean): Line {
    const line = { controller: new AbortController(), clock, throughProxy };
    this.#lines.add(line);
    if (this.isClosed) this.#end(line, this.#delay());
    return line;
  }

  /** It has been answered; whether the client is still there no longer matters. */
  forget(line: Line): void {
    this.#lines.delete(line);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.#lines.size === 0) return;
    const delayMs = this.#delay();
    for (const line of this.#lines) this.#end(line, delayMs);
  }

  #end(line: Line, delayMs: number): void {
    const keptMs = line.throughProxy ? Math.max(0, this.#faultsEndMs() - this.#time.monotonicMs()) : 0;
    if (keptMs === Number.POSITIVE_INFINITY) return;
    this.#time.after(keptMs + delayMs, () => {
      if (!this.#lines.has(line)) return;
      line.clock.pass(() => line.controller.abort(new CallLost("the client is gone")));
    });
  }
}
