import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ElectionStoppedError } from "./errors.js";
import { out, silence } from "./scripted-elector.test-kit.js";
import type { ElectionEvent } from "./state.js";
import { failureOf, gate, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("An election that is started again", () => {
  test("an election that is started again campaigns as another instance and leads a later term, with the same hooks and listeners", async () => {
    const a = world.participant("a");
    const promoted: number[] = [];
    a.election.on("promoted", ({ mandate }) => promoted.push(mandate.term));
    const instances: unknown[] = [a.election.instanceId];
    for (let run = 1; run <= 3; run += 1) {
      await world.until(a.election.start());
      expect(a.election.term()).toBe(run);
      instances.push(a.election.instanceId);
      await world.until(a.election.stop());
      expect(a.election.status().state).toEqual({ kind: "stopped" });
    }
    expect(instances[0]).toBe(null);
    expect(new Set(instances).size).toBe(4);
    expect(promoted).toEqual([1, 2, 3]);
    expect(a.log.filter((line) => line.startsWith("demote"))).toEqual(Array(3).fill("demote stopped"));
  });

  test("an election that is started again waits until the work of the previous run has ended", async () => {
    const a = world.scripted("a", { bare: true });
    const worked = gate();
    const terms: number[] = [];
    a.election.onPromote(({ term }) => {
      terms.push(term);
      return worked.opened;
    });
    await a.election.start();
    const stopped = a.election.stop();
    const started = a.election.start();
    await world.clock.advance(5000);
    expect(terms).toEqual([1]);
    expect(a.election.isLeader()).toBe(false);
    expect(a.elector.made("campaign").length).toBe(1);
    worked.open();
    await world.until(Promise.all([stopped, started]));
    expect(terms).toEqual([1, 2]);
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  test("an election that is stopped again before the previous run has ended never campaigns", async () => {
    const a = world.scripted("a", { bare: true });
    const worked = gate();
    a.election.onPromote(() => worked.opened);
    await a.election.start();
    const ends = [a.election.stop(), a.election.start(), a.election.stop()];
    worked.open();
    await world.until(Promise.all(ends));
    expect(a.elector.made("campaign").length).toBe(1);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
  });

  test("an election that is started again does not lead by the lease of the previous run", async () => {
    const a = world.scripted("a");
    await a.election.start();
    await world.until(a.election.stop({ resign: false }));
    await world.until(a.election.start());
    expect(a.election.isLeader()).toBe(false);
    await world.clock.advance(1100);
    expect(a.election.term()).toBe(2);
    expect(a.log.filter((line) => line.startsWith("promote"))).toEqual(["promote 1", "promote 2"]);
    await world.until(a.election.stop());
  });

  test("an election that has failed can be started again", async () => {
    const a = world.scripted("a", { retry: { maxAttempts: 1 } });
    a.elector.next("campaign", out);
    await world.until(failureOf(a.election.start()));
    expect(a.election.status().state).toMatchObject({ kind: "failed" });
    await world.until(a.election.start());
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
  });

  test("changes() ends with each run of an election", async () => {
    const a = world.participant("a");
    for (let run = 0; run < 2; run += 1) {
      const seen: ElectionEvent[] = [];
      const started = a.election.start();
      await world.until(started);
      const reading = (async () => {
        for await (const event of a.election.changes()) seen.push(event);
      })();
      await world.until(a.election.stop());
      await world.until(reading);
      expect(seen.at(-1)).toEqual({ kind: "stopped" });
    }
  });
});

describe("Listeners given to on()", () => {
  test("several listeners of on() are called in order until they are removed, and one that throws is reported once", async () => {
    const a = world.participant("a");
    const seen: string[] = [];
    const failures: unknown[] = [];
    const leave = a.election.on("promoted", () => seen.push("first"));
    a.election.on("promoted", () => {
      seen.push("second");
      throw new Error("broken listener");
    });
    a.election.on("promoted", ({ mandate }) => seen.push(`third ${mandate.term}`));
    a.election.on("hook-failed", ({ hook, error }) => failures.push([hook, (error as Error).message]));
    await a.election.start();
    await world.clock.advance(1);
    leave();
    a.election.resign();
    await world.clock.advance(1);
    expect(seen).toEqual(["first", "second", "third 1", "second", "third 2"]);
    expect(failures).toEqual([["listener", "broken listener"]]);
    await world.until(a.election.stop());
  });
});

describe("untilLeader and untilDemoted", () => {
  test("untilLeader resolves with the mandate and untilDemoted with the reason", async () => {
    const a = world.participant("a");
    expect(await a.election.untilDemoted()).toBe(null);
    const leading = a.election.untilLeader();
    await a.election.start();
    expect((await world.until(leading)).value).toMatchObject({ term: 1, nodeId: "a" });
    expect(await a.election.untilLeader()).toMatchObject({ term: 1 });
    const demoted = a.election.untilDemoted();
    const stopped = a.election.stop();
    expect((await world.until(demoted)).value).toBe("stopped");
    await world.until(stopped);
    expect(await failureOf(a.election.untilLeader())).toBeInstanceOf(ElectionStoppedError);
  });

  test("untilLeader and untilDemoted reject when their signal aborts", async () => {
    const a = world.participant("a");
    const leaving = new AbortController();
    const waits = [a.election.untilLeader({ signal: leaving.signal })];
    const failures = waits.map(failureOf);
    leaving.abort(new Error("enough"));
    for (const failure of failures) expect(await failure).toMatchObject({ message: "enough" });
    await a.election.start();
    const leavingToo = new AbortController();
    const demoted = failureOf(a.election.untilDemoted({ signal: leavingToo.signal }));
    leavingToo.abort(new Error("enough"));
    expect(await demoted).toMatchObject({ message: "enough" });
    await world.until(a.election.stop());
  });
});

describe("The signal and the token of an election", () => {
  test("signal and token are those of the current leadership, and null without one", async () => {
    const a = world.scripted("a");
    expect(a.election.signal).toBe(null);
    await a.election.start();
    const { signal } = a.election;
    expect(signal?.aborted).toBe(false);
    expect(a.election.token()).toBe(null);
    expect(a.election.term()).toBe(1);
    await world.until(a.election.stop());
    expect(signal?.aborted).toBe(true);
    expect(a.election.signal).toBe(null);
  });
});

describe("update of an election", () => {
  const metadata = async () => {
    const { leader } = await world.operator.leader("g");
    return leader?.metadata;
  };

  test("an update by a leader changes the metadata in the same term, and neither extends nor shortens its lease here", async () => {
    const a = world.scripted("a", { metadata: { version: 1 } });
    await a.election.start();
    await world.clock.advance(150);
    await world.until(a.election.update({ metadata: { version: 2 } }));
    expect(await metadata()).toEqual({ version: 2 });
    expect(a.election.term()).toBe(1);
    a.elector.always(silence, "renew");
    // The lease was won at 0: 990 ms of it, less the margin of 100.
    await world.clock.advance(890 - 150 - 1);
    expect(a.log).toEqual(["promote 1"]);
    await world.clock.advance(1);
    expect(a.log.slice(0, 2)).toEqual(["promote 1", "abort"]);
    a.elector.mend();
    await world.until(a.election.stop());
  });

  test("an update by a follower is kept for later campaigns, even if an older campaign waits and wins", async () => {
    const a = world.participant("a");
    const b = world.scripted("b", { metadata: { version: 1 } });
    await a.election.start();
    await b.election.start();
    await world.clock.advance(100);
    await world.until(b.election.update({ metadata: { version: 2 } }));
    await world.until(a.election.stop());
    await world.clock.advance(10);
    expect(b.election.isLeader()).toBe(true);
    expect(await metadata()).toEqual({ version: 2 });
    await world.until(b.election.stop());
  });

  test("an update by a process that was deposed ends its leadership and resigns what it may have won", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.always(out, "renew");
    await world.operator.stepDown({ groupId: "g", by: "op", force: true });
    await world.until(a.election.update({ metadata: { version: 2 } }));
    a.elector.mend();
    await world.clock.advance(0);
    expect(a.log.slice(0, 3)).toEqual(["promote 1", "abort", "demote not-leader"]);
    await world.clock.advance(5000);
    await world.until(a.election.stop());
    expect((await world.operator.leader("g")).leader).toBe(null);
  });

  test("an update that is not answered rejects, keeps the leadership, and leaves nothing behind after a stop", async () => {
    const a = world.scripted("a");
    await a.election.start();
    a.elector.next("campaign", silence);
    const failure = failureOf(a.election.update({ metadata: { version: 2 } }));
    expect((await world.until(failure)).value).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(a.election.isLeader()).toBe(true);
    await world.until(a.election.stop());
    expect(a.elector.made("leader").length).toBe(1);
    expect(await failureOf(a.election.update({ metadata: { f: () => 1 } }))).toMatchObject({
      field: "metadata.f",
    });
  });
});
