import { describe, expect, it } from "vitest";
import { sleep } from "../clock.js";
import type { StopPlan } from "./process-clock.js";
import { Random } from "./random.js";
import { VirtualClock } from "./virtual-clock.js";

describe("VirtualClock", () => {
  it("a virtual clock stands still until it is moved, and fires due timers in order of time and of setting", async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.after(20, () => fired.push("c"));
    clock.after(10, () => fired.push("a"));
    clock.after(10, () => fired.push("b"));
    expect(fired).toEqual([]);
    await clock.advance(15);
    expect(fired).toEqual(["a", "b"]);
    expect(clock.monotonicMs()).toBe(15);
    await clock.advance(5);
    expect(fired).toEqual(["a", "b", "c"]);
  });

  it("a virtual clock never calls a timer from within the call that sets it", async () => {
    const clock = new VirtualClock();
    let fired = false;
    clock.after(0, () => {
      fired = true;
    });
    expect(fired).toBe(false);
    await clock.advance(0);
    expect(fired).toBe(true);
  });

  it("a virtual clock lets everything that follows from one timer settle before it fires the next", async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const follow = async (name: string, delayMs: number) => {
      await sleep(clock, delayMs);
      for (let i = 0; i < 5; i++) await Promise.resolve();
      seen.push(`${name} at ${clock.monotonicMs()}`);
    };
    void follow("first", 10);
    void follow("second", 10.5);
    await clock.advance(20);
    expect(seen).toEqual(["first at 10", "second at 10.5"]);
  });

  it("a cancelled timer does not fire, and a timer may set and cancel others", async () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const cancel = clock.after(10, () => fired.push(10));
    clock.after(5, () => {
      cancel();
      cancel();
      clock.after(1, () => fired.push(6));
    });
    await clock.advance(100);
    expect(fired).toEqual([6]);
  });

  it("a wait of a process that is too short for the precision of its clock still takes time", async () => {
    const clock = new VirtualClock();
    const process = clock.process();
    await clock.advance(65_772.73);
    const beganMs = process.monotonicMs();
    let firedAtMs = Number.NaN;
    process.after(1e-13, () => (firedAtMs = process.monotonicMs()));
    await clock.advance(1);
    expect(firedAtMs).toBeGreaterThan(beganMs);
  });

  it("several virtual clocks run side by side", async () => {
    const worlds = [1, 2, 3].map(async (pace) => {
      const clock = new VirtualClock();
      const ticks: number[] = [];
      const tick = () => {
        ticks.push(clock.monotonicMs());
        clock.after(pace, tick);
      };
      clock.after(pace, tick);
      await clock.run({ untilMs: 6 });
      return ticks;
    });
    expect(await Promise.all(worlds)).toEqual([
      [1, 2, 3, 4, 5, 6],
      [2, 4, 6],
      [3, 6],
    ]);
  });
});

describe("the clocks of a simulated process", () => {
  it("process clocks run fast or slow by their rate, and no timer fires early on them", async () => {
    const time = new VirtualClock();
    const fast = time.process({ rate: 1.01 });
    const slow = time.process({ rate: 0.99, originMs: 5000 });
    const random = new Random(7);
    const early: number[] = [];
    for (let i = 0; i < 200; i++) {
      for (const clock of [fast, slow]) {
        const dueMs = clock.monotonicMs() + random.between(0, 1000);
        clock.after(dueMs - clock.monotonicMs(), () => {
          if (clock.monotonicMs() < dueMs) early.push(dueMs);
        });
      }
      await time.advance(random.between(0, 10));
    }
    await time.advance(2000 - time.monotonicMs() + 1000);
    expect(early).toEqual([]);
    expect(fast.monotonicMs()).toBeCloseTo(3030, 6);
    expect(slow.bootMs()).toBeCloseTo(5000 + 2970, 6);
  });

  it("a paused process gets due timers and messages when it is resumed, in order", async () => {
    const time = new VirtualClock();
    const clock = time.process();
    const seen: string[] = [];
    clock.after(10, () => seen.push(`a ${time.monotonicMs()}`));
    clock.after(20, () => seen.push(`b ${time.monotonicMs()}`));
    clock.pause();
    clock.pass(() => seen.push(`message ${time.monotonicMs()}`));
    await time.advance(15);
    expect(seen).toEqual([]);
    expect(clock.monotonicMs()).toBe(15);
    clock.resume();
    await time.advance(10);
    expect(seen).toEqual(["message 15", "a 15", "b 20"]);
  });

  it("a suspended process has a stopped monotonic clock, while boot and wall time run on", async () => {
    const time = new VirtualClock();
    const clock = time.process();
    const wallMs = clock.wallMs();
    let firedAtMs: number | null = null;
    clock.after(100, () => {
      firedAtMs = time.monotonicMs();
    });
    await time.advance(40);
    clock.suspend();
    await time.advance(1000);
    expect(clock.monotonicMs()).toBe(40);
    expect(clock.bootMs()).toBe(1040);
    expect(clock.wallMs()).toBe(wallMs + 1040);
    clock.resume();
    await time.advance(59);
    expect(firedAtMs).toBeNull();
    await time.advance(2);
    expect(firedAtMs).toBeCloseTo(1100, 3);
  });

  it("a killed process is never called again", async () => {
    const time = new VirtualClock();
    const clock = time.process();
    const seen: string[] = [];
    clock.after(10, () => seen.push("timer"));
    clock.pause();
    clock.pass(() => seen.push("message"));
    clock.kill();
    clock.resume();
    clock.pass(() => seen.push("late"));
    await time.advance(100);
    expect(seen).toEqual([]);
    expect(clock.isKilled).toBe(true);
  });

  it("the boot clock advances in ticks, and the wall clock can be set", async () => {
    const time = new VirtualClock();
    const clock = time.process({ bootTickMs: 10, wallOffsetMs: -500 });
    await time.advance(27);
    expect(clock.bootMs()).toBe(20);
    expect(clock.wallMs()).toBe(VirtualClock.EPOCH_MS - 500 + 27);
    clock.stepWall(-3_600_000);
    expect(clock.wallMs()).toBe(VirtualClock.EPOCH_MS - 500 + 27 - 3_600_000);
    expect(clock.monotonicMs()).toBe(27);
  });

  it("a process clock may change its rate, and a timer set before still waits its full time", async () => {
    const time = new VirtualClock();
    const clock = time.process();
    let firedAtMs: number | null = null;
    clock.after(100, () => {
      firedAtMs = time.monotonicMs();
    });
    await time.advance(50);
    clock.setRate(0.5);
    await time.advance(99);
    expect(firedAtMs).toBeNull();
    await time.advance(2);
    expect(firedAtMs).toBeCloseTo(150, 3);
  });
});

describe("a process that is stopped at a reading of its clock", () => {
  /** A process that is stopped for `forMs` at the first reading of its clock. */
  function stoppedAtReading(forMs: number) {
    const time = new VirtualClock();
    const plan: StopPlan = { rate: 1, stopMs: [forMs, forMs] };
    const clock = time.process({ stops: { plan, random: new Random(1) } });
    const seen: string[] = [];
    const note = (what: string) => seen.push(`${what} at ${time.monotonicMs()}`);
    const stop = () => {
      const readMs = clock.monotonicMs();
      plan.rate = 0;
      return readMs;
    };
    return { time, clock, seen, note, stop };
  }

  it("a stopped process reads the time of the end of its stop on all its clocks until then", async () => {
    const { time, clock, stop } = stoppedAtReading(200);
    await time.advance(50);
    expect(stop()).toBe(250);
    expect(clock.monotonicMs()).toBe(250);
    expect(clock.bootMs()).toBe(250);
    expect(clock.wallMs()).toBe(VirtualClock.EPOCH_MS + 250);
    expect(time.monotonicMs()).toBe(50);
    await time.advance(300);
    expect(clock.monotonicMs()).toBe(350);
  });

  it("a stopped process sends and receives nothing before its stop is over, and its timers count from there", async () => {
    const { time, clock, seen, note, stop } = stoppedAtReading(200);
    stop();
    expect(clock.isRunning).toBe(false);
    clock.pass(() => note("sent"));
    clock.after(10, () => note("timer"));
    time.after(150, () => clock.pass(() => note("heard")));
    await time.advance(500);
    expect(seen).toEqual(["sent at 200", "heard at 200", "timer at 210"]);
  });

  it("look() reads the clock of a stopped process at the simulated time, without a stop", async () => {
    const { time, clock, stop } = stoppedAtReading(200);
    expect(clock.look(() => clock.monotonicMs())).toBe(0);
    stop();
    await time.advance(50);
    expect(clock.look(() => clock.monotonicMs())).toBe(50);
    expect(clock.monotonicMs()).toBe(200);
  });

  it("a stopped process that is killed never sends its pending messages", async () => {
    const { time, clock, seen, note, stop } = stoppedAtReading(200);
    stop();
    clock.pass(() => note("sent"));
    time.after(100, () => clock.kill());
    await time.advance(500);
    expect(seen).toEqual([]);
  });

  it("a pause that begins during a stop takes effect after the stop, unless the pause has ended by then", async () => {
    const { time, clock, seen, note, stop } = stoppedAtReading(200);
    stop();
    clock.pass(() => note("sent"));
    time.after(100, () => clock.pause());
    time.after(300, () => clock.resume());
    await time.advance(250);
    expect(clock.isRunning).toBe(false);
    await time.advance(100);
    expect(seen).toEqual(["sent at 300"]);

    const short = stoppedAtReading(200);
    short.stop();
    short.clock.pass(() => short.note("sent"));
    short.time.after(100, () => short.clock.suspend());
    short.time.after(150, () => short.clock.resume());
    await short.time.advance(300);
    expect(short.seen).toEqual(["sent at 200"]);
    expect(short.clock.monotonicMs()).toBe(300);
  });
});

describe("Random", () => {
  it("random numbers are the same for the same seed, and differ between neighbouring seeds and forks", () => {
    const draw = (random: Random) => Array.from({ length: 5 }, () => random.next());
    expect(draw(new Random(1))).toEqual(draw(new Random(1)));
    expect(draw(new Random(1))).not.toEqual(draw(new Random(2)));
    const random = new Random(3);
    expect(draw(random.fork())).not.toEqual(draw(random.fork()));
  });

  it("random numbers are evenly spread", () => {
    const random = new Random(99);
    const counts = [0, 0, 0, 0, 0];
    for (let i = 0; i < 50_000; i++) counts[random.int(0, 4)]!++;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    expect(random.shuffle([1, 2, 3, 4]).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  });
});
