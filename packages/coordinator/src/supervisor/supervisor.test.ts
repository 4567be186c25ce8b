import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, test } from "vitest";
import type { ChildSpec, Restart, RunningChild } from "./child.js";
import { type Strategy, Supervisor, type SupervisorOptions } from "./supervisor.js";

/** Children that do what the test says, and a log of what happened to them. */
class Nursery {
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly stopping = new AbortController();
  readonly stuck: string[] = [];
  leftMs = 100_000;
  readonly #crash = new Map<string, (error: Error) => void>();
  readonly #finish = new Map<string, () => void>();

  child(
    id: string,
    options: { restart?: Restart; stopTakesMs?: number; killable?: boolean } = {},
  ): ChildSpec {
    const { restart, stopTakesMs = 0, killable = true } = options;
    return {
      id,
      ...(restart === undefined ? {} : { restart }),
      start: ({ term }): RunningChild => {
        this.log.push(`start ${id} ${term}`);
        const ended = new Promise<void>((resolve, reject) => {
          this.#finish.set(id, resolve);
          this.#crash.set(id, reject);
        });
        const over = (how: string) => () => {
          this.log.push(`${how} ${id}`);
          this.#finish.get(id)?.();
        };
        const [end, kill] = [over("end"), over("kill")];
        return { ended, stop: () => void this.clock.after(stopTakesMs, end), ...(killable ? { kill } : {}) };
      },
    };
  }

  supervise(options: SupervisorOptions): ReturnType<Supervisor["run"]> {
    const supervisor = new Supervisor({
      clock: this.clock,
      onStuck: (ids) => this.stuck.push(...ids),
      ...options,
    });
    return supervisor.run(7, this.stopping.signal, { leftMs: () => this.leftMs - this.clock.monotonicMs() });
  }

  async crash(id: string): Promise<void> {
    await this.clock.advance(1);
    this.log.length = 0;
    this.#crash.get(id)?.(new Error(`${id} crashed`));
    await this.clock.advance(1);
  }

  async finish(id: string): Promise<void> {
    await this.clock.advance(1);
    this.log.length = 0;
    this.#finish.get(id)?.();
    await this.clock.advance(1);
  }

  async stop(): Promise<void> {
    this.log.length = 0;
    this.stopping.abort();
    await this.clock.advance(100_000);
  }
}

function three(nursery: Nursery, strategy: Strategy): ReturnType<Supervisor["run"]> {
  return nursery.supervise({ strategy, children: ["a", "b", "c"].map((id) => nursery.child(id)) });
}

describe("Supervisor", () => {
  test("a supervisor starts children in order, stops them in reverse, and passes on the term", async () => {
    const nursery = new Nursery();
    const ended = three(nursery, "one_for_one");
    await nursery.clock.advance(0);
    expect(nursery.log).toEqual(["start a 7", "start b 7", "start c 7"]);
    await nursery.stop();
    expect(nursery.log).toEqual(["end c", "end b", "end a"]);
    expect(await ended).toEqual({ kind: "stopped" });
  });

  test.each([
    ["one_for_one", ["start b 7"]],
    ["one_for_all", ["end c", "end a", "start a 7", "start b 7", "start c 7"]],
    ["rest_for_one", ["end c", "start b 7", "start c 7"]],
  ] as const)("%s: a crash in the middle restarts the right children", async (strategy, log) => {
    const nursery = new Nursery();
    const ended = three(nursery, strategy);
    await nursery.crash("b");
    expect(nursery.log).toEqual(log);
    await nursery.stop();
    await ended;
  });

  test.each([
    ["permanent", true, true],
    ["transient", false, true],
    ["temporary", false, false],
  ] as const)("a %s child restarts after a normal end: %s, a crash: %s", async (restart, well, crashed) => {
    const nursery = new Nursery();
    const ended = nursery.supervise({
      children: [nursery.child("a", { restart }), nursery.child("b", { restart })],
    });
    await nursery.finish("a");
    expect(nursery.log).toEqual(well ? ["start a 7"] : []);
    await nursery.crash("b");
    expect(nursery.log).toEqual(crashed ? ["start b 7"] : []);
    await nursery.stop();
    await ended;
  });

  test("a supervisor gives up after more restarts within the time than allowed, and then no child runs", async () => {
    const nursery = new Nursery();
    const children = [nursery.child("a"), nursery.child("b")];
    const ended = nursery.supervise({ children, intensity: { maxRestarts: 2, withinMs: 1000 } });
    await nursery.crash("a");
    await nursery.crash("a");
    await nursery.clock.advance(1000);
    await nursery.crash("a");
    await nursery.crash("a");
    expect(nursery.log).toEqual(["start a 7"]);
    await nursery.crash("a");
    expect(nursery.log).toEqual(["end b"]);
    const end = await ended;
    expect(end).toMatchObject({ kind: "gave-up", error: { cause: { message: "a crashed" } } });
  });

  test("each start, crash and restart is reported, including children that are restarted with another", async () => {
    const nursery = new Nursery();
    const events: string[] = [];
    const ended = nursery.supervise({
      children: [nursery.child("a"), nursery.child("b"), nursery.child("c", { restart: "temporary" })],
      strategy: "one_for_all",
      onChild: (event) => {
        const { kind, id, term } = event;
        const end = event.kind === "restarted" ? ` after ${event.end?.kind ?? "a stop"}` : "";
        events.push(`${kind} ${id} ${term}${end}`);
      },
    });
    await nursery.crash("c");
    expect(events.splice(0)).toEqual(["started a 7", "started b 7", "started c 7", "crashed c 7"]);
    await nursery.finish("a");
    await nursery.crash("b");
    expect(events).toEqual([
      ...["restarted a 7 after done", "restarted b 7 after a stop", "restarted c 7 after a stop"],
      "crashed b 7",
      ...["restarted a 7 after a stop", "restarted b 7 after crashed", "restarted c 7 after a stop"],
    ]);
    await nursery.stop();
    await ended;
  });

  test("a child whose start throws has crashed", async () => {
    const nursery = new Nursery();
    const broken: ChildSpec = {
      id: "broken",
      start: () => {
        throw new Error("no port");
      },
    };
    const ended = nursery.supervise({ children: [nursery.child("a"), broken] });
    await nursery.clock.advance(10);
    expect(await ended).toMatchObject({ kind: "gave-up", error: { cause: { message: "no port" } } });
    expect(nursery.log).toEqual(["start a 7", "end a"]);
  });

  test("a child that does not end in its time is killed, and only then the next one is stopped", async () => {
    const nursery = new Nursery();
    const slow = { ...nursery.child("slow", { stopTakesMs: 1e9 }), stopTimeoutMs: 500 };
    const ended = nursery.supervise({ children: [nursery.child("a"), slow] });
    await nursery.clock.advance(0);
    await nursery.stop();
    expect(nursery.log).toEqual(["kill slow", "end a"]);
    await ended;
  });

  test("a child that still runs shortly before the lease ends is killed, whatever its own timeout", async () => {
    const nursery = new Nursery();
    const children = ["a", "b"].map((id) => ({
      ...nursery.child(id, { stopTakesMs: 1e9 }),
      stopTimeoutMs: Number.POSITIVE_INFINITY,
    }));
    const ended = nursery.supervise({ children, killMarginMs: 50 });
    await nursery.clock.advance(1000);
    nursery.leftMs = 1300;
    nursery.log.length = 0;
    nursery.stopping.abort();
    await nursery.clock.advance(249);
    expect(nursery.log).toEqual([]);
    await nursery.clock.advance(1);
    expect(nursery.log).toEqual(["kill a", "kill b"]);
    expect(await ended).toEqual({ kind: "stopped" });
  });

  test("a lease that is renewed while the children end gives them more time", async () => {
    const nursery = new Nursery();
    const ended = nursery.supervise({
      children: [nursery.child("a", { stopTakesMs: 2000 })],
      killMarginMs: 50,
    });
    await nursery.clock.advance(1000);
    nursery.leftMs = 1300;
    nursery.log.length = 0;
    nursery.stopping.abort();
    await nursery.clock.advance(200);
    nursery.leftMs = 10_000;
    await nursery.clock.advance(5000);
    expect(nursery.log).toEqual(["end a"]);
    await ended;
  });

  test("a child in this thread that ignores its signal is named when the lease is about to end", async () => {
    const nursery = new Nursery();
    const deaf = nursery.child("deaf", { stopTakesMs: 3000, killable: false });
    const ended = nursery.supervise({ children: [nursery.child("a"), deaf], killMarginMs: 50 });
    await nursery.clock.advance(1000);
    nursery.leftMs = 2000;
    nursery.stopping.abort();
    await nursery.clock.advance(999);
    expect(nursery.stuck).toEqual([]);
    await nursery.clock.advance(1);
    expect(nursery.stuck).toEqual(["deaf"]);
    await nursery.clock.advance(5000);
    await ended;
  });

  test("a supervisor that is stopped while a child is starting ends that child too", async () => {
    const nursery = new Nursery();
    let begin: (child: RunningChild) => void = () => {};
    const late: ChildSpec = {
      id: "late",
      start: () =>
        new Promise((resolve) => {
          begin = resolve;
        }),
    };
    const ended = nursery.supervise({ children: [nursery.child("a"), late, nursery.child("c")] });
    await nursery.clock.advance(0);
    nursery.stopping.abort();
    await nursery.clock.advance(10);
    let stopped = false;
    begin({
      ended: new Promise((resolve) => {
        nursery.clock.after(20, resolve);
      }),
      stop: () => {
        stopped = true;
      },
    });
    await nursery.clock.advance(100);
    expect(await ended).toEqual({ kind: "stopped" });
    expect(stopped).toBe(true);
    expect(nursery.log).toEqual(["start a 7", "end a"]);
  });

  test("a child that does not answer the request to end is killed in its time, and the rest are stopped", async () => {
    const nursery = new Nursery();
    const silent: ChildSpec = {
      id: "silent",
      stopTimeoutMs: 500,
      start: () => {
        let end = (): void => {};
        const ended = new Promise<void>((resolve) => {
          end = resolve;
        });
        return { ended, stop: () => new Promise(() => {}), kill: () => end() };
      },
    };
    const ended = nursery.supervise({ children: [nursery.child("a"), silent] });
    await nursery.clock.advance(0);
    await nursery.stop();
    expect(nursery.log).toEqual(["end a"]);
    expect(await ended).toEqual({ kind: "stopped" });
  });

  test("a child in this thread that has not ended in its own time is named, even if the lease is renewed", async () => {
    const nursery = new Nursery();
    const deaf = { ...nursery.child("deaf", { stopTakesMs: 3000, killable: false }), stopTimeoutMs: 500 };
    const ended = nursery.supervise({ children: [deaf] });
    await nursery.clock.advance(0);
    nursery.stopping.abort();
    await nursery.clock.advance(499);
    expect(nursery.stuck).toEqual([]);
    await nursery.clock.advance(1);
    expect(nursery.stuck).toEqual(["deaf"]);
    await nursery.clock.advance(5000);
    await ended;
  });

  test("a child whose start does not end in time is named, and killed once it has started", async () => {
    const nursery = new Nursery();
    const slow = nursery.child("slow");
    const late: ChildSpec = {
      ...slow,
      stopTimeoutMs: 500,
      start: async (context) => {
        await new Promise<void>((resolve) => {
          nursery.clock.after(2000, resolve);
        });
        return slow.start(context);
      },
    };
    const ended = nursery.supervise({ children: [late] });
    await nursery.clock.advance(0);
    nursery.stopping.abort();
    await nursery.clock.advance(1000);
    expect(nursery.stuck).toEqual(["slow"]);
    await nursery.clock.advance(1000);
    expect(nursery.log.slice(0, 2)).toEqual(["start slow 7", "kill slow"]);
    await ended;
  });

  test("a child that was to be killed at the end of one leadership is not killed in the next", async () => {
    const nursery = new Nursery();
    const supervisor = new Supervisor({
      clock: nursery.clock,
      intensity: { maxRestarts: 0 },
      children: [nursery.child("a"), nursery.child("b", { stopTakesMs: 10 })],
    });
    const first = supervisor.run(7, nursery.stopping.signal, {
      leftMs: () => 1000 - nursery.clock.monotonicMs(),
    });
    // It gives up, and is stopped as well while the children end.
    await nursery.crash("a");
    nursery.stopping.abort();
    await nursery.clock.advance(100);
    expect(await first).toMatchObject({ kind: "gave-up" });
    nursery.log.length = 0;
    const next = new AbortController();
    const second = supervisor.run(8, next.signal, { leftMs: () => 1e6 - nursery.clock.monotonicMs() });
    await nursery.clock.advance(5000);
    expect(nursery.log).toEqual(["start a 8", "start b 8"]);
    next.abort();
    await nursery.clock.advance(100);
    expect(await second).toEqual({ kind: "stopped" });
  });

  test("the signal of a crashed child aborts, which ends what it left behind", async () => {
    const nursery = new Nursery();
    const told: string[] = [];
    const leaving: ChildSpec = {
      id: "leaving",
      restart: "temporary",
      start: ({ signal }) => {
        signal.addEventListener("abort", () => told.push("aborted"));
        return { ended: Promise.reject(new Error("no memory")) };
      },
    };
    const ended = nursery.supervise({ children: [leaving] });
    await nursery.clock.advance(1);
    expect(told).toEqual(["aborted"]);
    await nursery.stop();
    await ended;
  });

  test("no child is started when the lease is over by the clock, even before the signal", async () => {
    const nursery = new Nursery();
    const ended = nursery.supervise({ children: [nursery.child("a")] });
    await nursery.clock.advance(0);
    // As after a pause of the process: events of its children may arrive before the timers fire.
    nursery.leftMs = 0;
    await nursery.crash("a");
    expect(nursery.log).toEqual([]);
    await nursery.stop();
    expect(await ended).toEqual({ kind: "stopped" });
  });

  test.each([
    [{ children: {} }, "children must be a list"],
    [{ children: [null] }, "children[0] must be an object"],
    [{ children: [{ id: "", start: () => {} }] }, "children[0].id must be a non-empty string"],
    [{ children: [{ id: "a" }] }, "children[0].start must be a function"],
    [
      { children: [{ id: "a", start: () => {}, restart: "always" }] },
      'children[0].restart is "always"; known are permanent, transient, temporary',
    ],
    [
      { children: [{ id: "a", start: () => {}, stopTimeoutMs: -1 }] },
      "children[0].stopTimeoutMs must be a whole number from 0 to 3600000",
    ],
    [{ children: [], killMarginMs: 0 }, "killMarginMs must be a whole number from 1"],
    [{ children: [], margin: 1 }, "margin is not known here"],
  ])("a supervisor refuses %j", (options, message) => {
    expect(() => new Supervisor(options as never)).toThrow(message);
  });

  test("a wrong strategy, or a repeated id, is refused by name", () => {
    const nursery = new Nursery();
    const strategy = "some" as Strategy;
    expect(() => new Supervisor({ children: [], strategy })).toThrow('strategy is "some"');
    const twice = [nursery.child("a"), nursery.child("a")];
    expect(() => new Supervisor({ children: twice })).toThrow("children name a twice");
    const intensity = { maxRestarts: -1 };
    expect(() => new Supervisor({ children: [], intensity })).toThrow("intensity.maxRestarts must be");
  });
});
