import { type Clock, MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import { type RmChange, type RmEntry, RmRegistry } from "./rm-registry.js";
import { RmReplicator } from "./rm-replicator.js";

const CHANGE: RmChange = { kind: "register", backendHash: "h", endpoint: "https://r:1" };

describe("a change of the registry", () => {
  let own: RmRegistry;
  let peers: Map<string, RmRegistry>;
  let unreachable: Set<string>;
  /** Members that make the change and whose answer is lost. */
  let mute: Set<string>;
  /** Members at which the change itself fails. */
  let broken: Set<string>;
  /** Members that are cut off after they have made the change. */
  let cutAfter: Set<string>;
  let replicator: RmReplicator;
  let calls: string[];
  let changed: string[];
  beforeEach(async () => {
    const clock = new VirtualClock();
    own = await registryOf("own");
    peers = new Map([
      ["a", await registryOf("a")],
      ["b", await registryOf("b")],
    ]);
    [unreachable, mute, broken, cutAfter] = [new Set(), new Set(), new Set(), new Set()];
    calls = [];
    changed = [];
    replicator = new RmReplicator({
      registry: own,
      clock,
      limitMs: 1000,
      peers: () => [...peers.keys()],
      onChanged: ({ kind }) => changed.push(kind),
      calls: {
        reach: async (to) => {
          calls.push(`reach ${to}`);
          if (unreachable.has(to)) throw new Error("away");
        },
        replicate: async (to, entry) => {
          calls.push(`${entry.isRegistered ? "register" : "unregister"} ${to}`);
          if (unreachable.has(to) || broken.has(to)) throw new Error("away");
          const peer = peers.get(to) as RmRegistry;
          await peer.merge([entry]);
          if (cutAfter.delete(to)) unreachable.add(to);
          if (mute.has(to) || unreachable.has(to)) throw new Error("the answer is lost");
          return peer.entry(entry.backendHash, entry.endpoint) as RmEntry;
        },
      },
    });
  });
  const everywhere = () => [own, ...peers.values()].map((each) => each.has(CHANGE));

  it("a change of the registry is made at every server, and repeating it changes nothing", async () => {
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
    expect(everywhere()).toEqual([true, true, true]);
    expect(await replicator.apply({ ...CHANGE, kind: "unregister" })).toEqual({ kind: "applied" });
    expect(everywhere()).toEqual([false, false, false]);
    expect(own.backends()).toEqual([]);
    expect(changed).toEqual(["register", "unregister"]);
  });

  it("a change of the registry fails if another server contradicts it each time, and the other's state stays", async () => {
    const rival = peers.get("a") as RmRegistry;
    const merge = rival.merge.bind(rival);
    // It makes the opposite change at once, whatever it gets.
    rival.merge = async (entries) => {
      const isChanged = await merge(entries);
      await rival.make({ ...CHANGE, kind: "unregister" });
      return isChanged;
    };
    expect(await replicator.apply(CHANGE)).toMatchObject({ kind: "failed", endpoint: "a" });
    expect(own.has(CHANGE)).toBe(false);
    expect(changed).toEqual([]);
  });

  it("a change of the registry is not started if a member cannot be reached", async () => {
    unreachable.add("b");
    expect(await replicator.apply(CHANGE)).toMatchObject({ kind: "failed", endpoint: "b" });
    expect(calls).toEqual(["reach a", "reach b"]);
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("a change of the registry is undone everywhere if it fails at a member", async () => {
    broken.add("b");
    expect(await replicator.apply(CHANGE)).toMatchObject({ kind: "failed", endpoint: "b" });
    expect(everywhere()).toEqual([false, false, false]);
    expect(changed).toEqual([]);
  });

  it("a change is undone at a member whose answer was lost, as soon as the member can be reached", async () => {
    mute.add("b");
    expect((await replicator.apply(CHANGE)).kind).toBe("failed");
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("a change that cannot be undone at once is undone when the registries are next compared", async () => {
    cutAfter.add("b");
    expect((await replicator.apply(CHANGE)).kind).toBe("failed");
    expect(everywhere()).toEqual([false, false, true]);
    await (peers.get("b") as RmRegistry).merge(own.entries());
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("a change by a server that has missed others overrides these, and is not lost to them", async () => {
    for (const registry of peers.values()) {
      await registry.make(CHANGE);
      await registry.make({ ...CHANGE, kind: "unregister" });
    }
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
    expect(everywhere()).toEqual([true, true, true]);
  });

  it("an existing registration is not removed because repeating it failed", async () => {
    await replicator.apply(CHANGE);
    broken.add("b");
    expect((await replicator.apply(CHANGE)).kind).toBe("failed");
    expect(everywhere()).toEqual([true, true, true]);
  });

  it("a failed unregistration is undone everywhere", async () => {
    await replicator.apply(CHANGE);
    broken.add("b");
    expect((await replicator.apply({ ...CHANGE, kind: "unregister" })).kind).toBe("failed");
    expect(everywhere()).toEqual([true, true, true]);
  });

  it("a change of the registry contacts no former member", async () => {
    unreachable.add("b");
    peers.delete("b");
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
  });
});

describe("registries that were apart", () => {
  const X: RmChange = { kind: "register", backendHash: "x", endpoint: "https://x:1" };
  const removed = (change: RmChange): RmChange => ({ ...change, kind: "unregister" });

  it("registries keep a removal that one of them has missed, whatever their wall clocks say", async () => {
    const clocks = new VirtualClock();
    const [slow, fast] = [clocks.process({ wallOffsetMs: -1e9 }), clocks.process({ wallOffsetMs: 1e9 })];
    const [here, there] = [await registryOf("a", slow), await registryOf("b", fast)];
    await there.merge([(await here.make(CHANGE)).entry]);
    // While apart, one removes it; the other, whose clock is far ahead, registers something else.
    await here.make(removed(CHANGE));
    await there.make(X);
    await there.merge(here.entries());
    await here.merge(there.entries());
    for (const each of [here, there]) expect(each.endpoints()).toEqual(["https://x:1"]);
  });

  it("registries converge, in any order and number of exchanges", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ at: fc.nat(2), which: fc.nat(2), isAdded: fc.boolean(), tells: fc.nat(2) }), {
          maxLength: 12,
        }),
        fc.shuffledSubarray(["01", "02", "10", "12", "20", "21"], { minLength: 6 }),
        async (acts, pairs) => {
          const all = [await registryOf("a"), await registryOf("b"), await registryOf("c")];
          const at = (index: number): RmRegistry => all[index] as RmRegistry;
          for (const { at: actor, which, isAdded, tells } of acts) {
            await at(actor).make({
              ...X,
              endpoint: `https://x:${which + 1}`,
              kind: isAdded ? "register" : "unregister",
            });
            if (tells !== actor) await at(tells).merge(at(actor).entries());
          }
          for (const pair of [...pairs, ...pairs])
            await at(Number(pair[0])).merge(at(Number(pair[1])).entries());
          for (const each of all) expect(new Set(each.entries())).toEqual(new Set(at(0).entries()));
        },
      ),
    );
  });

  it("a registry ignores an older state, and is durable", async () => {
    const store = new MemoryStore();
    const records = await OwnRecords.open(store);
    const registry = new RmRegistry({ identity: "a", records, clock: new VirtualClock() });
    const { entry } = await registry.make(CHANGE);
    await registry.make(removed(CHANGE));
    expect(await registry.merge([entry])).toBe(false);
    expect(registry.has(CHANGE)).toBe(false);
    const again = new RmRegistry({
      identity: "a",
      records: await OwnRecords.open(store),
      clock: new VirtualClock(),
    });
    expect(again.entries()).toEqual(registry.entries());
  });
});

async function registryOf(identity: string, clock: Clock = new VirtualClock()): Promise<RmRegistry> {
  return new RmRegistry({ identity, records: await OwnRecords.open(new MemoryStore()), clock });
}
