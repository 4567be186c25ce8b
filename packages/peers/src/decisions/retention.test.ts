import { beforeEach, describe, expect, it } from "vitest";
import { type DecidingServer, Deciders } from "./deciders.test-kit.js";
import { RETENTION_MS } from "./decision-log.js";
import { Retention } from "./retention.js";

const HOUR_MS = RETENTION_MS / 24;

describe("retention of a decision", () => {
  let world: Deciders;
  let retention: Retention[];
  const at = (name: string): DecidingServer => world.at(name);
  const known = (): readonly boolean[] => world.names.map((name) => at(name).log.get("t") !== null);
  const forgetsAt = ({ log, uptime }: DecidingServer): Retention => {
    const each = new Retention({ clock: world.clock, uptime, log });
    each.start();
    retention.push(each);
    return each;
  };
  beforeEach(async () => {
    world = await Deciders.of("abc");
    retention = [];
    for (const name of world.names) forgetsAt(at(name));
    return async () => {
      await Promise.all(retention.map((each) => each.stop()));
    };
  });

  async function decideEverywhere(): Promise<void> {
    const leading = new AbortController();
    at("a").decider.lead(1, leading.signal);
    await at("a").decider.settle("t", "commit", 1);
    await world.clock.advance(5000);
    leading.abort();
  }

  it("a decision is kept for a day after every resource manager has applied it, and then dropped by each server", async () => {
    await decideEverywhere();
    await world.clock.advance(RETENTION_MS - HOUR_MS);
    expect(known()).toEqual([true, true, true]);
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "commit" });
    await world.clock.advance(2 * HOUR_MS);
    expect(known()).toEqual([false, false, false]);
    for (const name of world.names) expect(at(name).manager.applied("t")).toBeNull();
    // Terms are never dropped.
    expect(await at("b").manager.apply({ txnId: "u", decision: "commit", term: 0 })).toMatchObject({
      kind: "stale",
    });
  });

  it("a decision is kept forever while one resource manager has not applied it", async () => {
    world.isolate("c");
    await decideEverywhere();
    await world.clock.advance(3 * RETENTION_MS);
    expect(at("a").log.get("t")).not.toBeNull();
    expect(await at("b").decider.settle("t", "abort", 2)).toMatchObject({ decision: "commit" });
  });

  it("a decision ages while its server runs, across restarts, and not while the server is off", async () => {
    await decideEverywhere();
    let ofB = retention[1] as Retention;
    for (let life = 0; life < 3; life++) {
      await world.clock.advance(RETENTION_MS / 3 - HOUR_MS / 2);
      await ofB.stop();
      await world.clock.advance(7 * RETENTION_MS);
      const again = await world.start("b", at("b").config);
      expect(again.log.get("t")).not.toBeNull();
      ofB = forgetsAt(again);
    }
    await world.clock.advance(HOUR_MS);
    expect(at("b").log.get("t")).not.toBeNull();
    await world.clock.advance(2 * HOUR_MS);
    expect(at("b").log.get("t")).toBeNull();
  });

  it("the age of a decision is never negative after a crash has set the uptime back, so the electorate can change", async () => {
    await world.clock.advance(HOUR_MS / 2);
    await decideEverywhere();
    // Without a stop, so that the uptime since the start was not stored.
    await world.start("b", at("b").config);
    expect(at("b").log.get("t")?.doneForMs).toBe(0);
    const { decider, config } = at("a");
    decider.lead(2, AbortSignal.abort(new Error("no sweeps")));
    decider.mayStep(config);
    await decider.stopped();
    expect(decider.mayStep(config)).toBe(true);
    // It has the age it had when the uptime was set back, and is dropped a day after that uptime is reached again.
    await world.clock.advance(RETENTION_MS);
    expect(at("b").log.get("t")).not.toBeNull();
  });

  it("a joining server receives decisions with their age", async () => {
    await decideEverywhere();
    await world.clock.advance(RETENTION_MS / 2);
    const held = at("a").log.all();
    const late = (await Deciders.of("d")).at("d");
    await late.log.take(held);
    expect(late.log.get("t")?.doneForMs).toBe(held[0]?.doneForMs);
  });

  it("a decision past its retention is not accepted from a server that still has it", async () => {
    const old = { txnId: "t", decision: "commit", term: 1, doneForMs: RETENTION_MS } as const;
    await at("a").log.take([old]);
    expect(at("a").log.get("t")).toBeNull();
  });
});
