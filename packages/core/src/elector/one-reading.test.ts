import { expect, test } from "vitest";
import type { CancelTimer, Clock } from "../clock.js";
import { LedTerm, sendMoment } from "../leader/led-term.js";
import { DEFAULT_DRIFT_RATIO } from "../lease-time.js";
import type { VirtualClock } from "../testing/virtual-clock.js";
import { A, B, C, claimOf, inWorld, wonBy, type World } from "./world.test-kit.js";

/**
 * A process that is stopped (by its scheduler, a garbage collection, SIGSTOP) for `stopMs` just before one chosen read
 * of its clock. Everything after that read happens that much later.
 */
class StoppedClock implements Clock {
  readonly bootTickMs = 0;
  readonly #time: VirtualClock;
  readonly #stopMs: number;
  #readsUntilStop: number | null = null;
  #stoppedMs = 0;
  reads = 0;

  constructor(time: VirtualClock, stopMs: number) {
    this.#time = time;
    this.#stopMs = stopMs;
  }

  stopAtRead(read: number): void {
    this.reads = 0;
    this.#readsUntilStop = read;
  }

  /** True time, looked at from outside the process. */
  trueMs(): number {
    return this.#time.monotonicMs() + this.#stoppedMs;
  }

  monotonicMs(): number {
    this.#read();
    return this.trueMs();
  }

  bootMs(): number {
    this.#read();
    return this.trueMs();
  }

  wallMs(): number {
    this.#read();
    return this.trueMs();
  }

  soon(callback: () => void): void {
    this.#time.soon(callback);
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    return this.#time.after(delayMs, callback);
  }

  #read(): void {
    if (this.reads++ === this.#readsUntilStop) this.#stoppedMs += this.#stopMs;
  }
}

/** The leader's machine: true time, no stops of its own. */
function trueClock(server: StoppedClock): Clock {
  const nowMs = () => server.trueMs();
  return {
    bootTickMs: 0,
    monotonicMs: nowMs,
    bootMs: nowMs,
    wallMs: nowMs,
    soon: queueMicrotask,
    after: () => () => {},
  };
}

const STOP_MS = 200;
const MAX_READS = 60;

/**
 * The invariant: when the server lets the next candidate win, the deadline of the leader before has passed. It must hold
 * wherever the server is stopped on its way from `grant` to the answer.
 */
async function checkStops(
  world: World,
  grant: (elector: ReturnType<World["elector"]>) => Promise<unknown>,
): Promise<number> {
  let stopsInside = 0;
  for (let read = 0; read < MAX_READS; read++) {
    const clock = new StoppedClock(world.clock, STOP_MS);
    const elector = world.elector({ clock });
    const groupId = `g${read}`;
    await elector.campaign({ ...A, groupId });
    const sent = sendMoment(trueClock(clock));
    const waiting = elector.campaign({ ...B, groupId, waitMs: 60_000 });
    await world.clock.advance(500);
    clock.stopAtRead(read);
    const granted = grant(elector);
    const { value } = await world.until(waiting);
    await granted;
    if (clock.reads > read) stopsInside++;
    expect(wonBy(value)).toBe("b");
    const led = new LedTerm(2, trueClock(clock), DEFAULT_DRIFT_RATIO);
    led.extend({ sent, ttlMs: 1000, waitedMs: value.kind === "elected" ? value.waitedMs : 0 });
    const { value: next } = await world.until(elector.campaign({ ...C, groupId, waitMs: 60_000 }));
    expect(wonBy(next)).toBe("c");
    expect(led.leftMs(), `stopped at read ${read}`).toBeLessThanOrEqual(0);
  }
  return stopsInside;
}

test(
  "a server stopped at any read of its clock while a lease expires lets no candidate win before the leader's deadline",
  inWorld(async (world) => {
    const stops = await checkStops(world, () => Promise.resolve());
    expect(stops).toBeGreaterThan(3);
  }),
);

test(
  "a server stopped at any read of its clock while a leader resigns lets no candidate win before the leader's deadline",
  inWorld(async (world) => {
    let group = 0;
    const stops = await checkStops(world, (elector) =>
      elector.resign({ ...claimOf(A, 1), groupId: `g${group++}` }),
    );
    expect(stops).toBeGreaterThan(3);
  }),
);
