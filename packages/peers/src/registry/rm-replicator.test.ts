import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import { type RmChange, RmRegistry } from "./rm-registry.js";
import { RmReplicator } from "./rm-replicator.js";

const CHANGE: RmChange = { kind: "register", backendHash: "h", endpoint: "https://r:1" };

describe("a change of the registry", () => {
  let own: RmRegistry;
  let peers: Map<string, RmRegistry>;
  let unreachable: Set<string>;
  /** It makes the change, and its answer is lost. */
  let mute: Set<string>;
  /** It fails at the change itself. */
  let broken: Set<string>;
  let replicator: RmReplicator;
  let calls: string[];
  beforeEach(async () => {
    const clock = new VirtualClock();
    const registry = async () => new RmRegistry(await OwnRecords.open(new MemoryStore()), clock);
    own = await registry();
    peers = new Map([
      ["a", await registry()],
      ["b", await registry()],
    ]);
    [unreachable, mute, broken] = [new Set(), new Set(), new Set()];
    calls = [];
    replicator = new RmReplicator({
      registry: own,
      clock,
      limitMs: 1000,
      peers: () => [...peers.keys()],
      calls: {
        reach: async (to) => {
          calls.push(`reach ${to}`);
          if (unreachable.has(to)) throw new Error("away");
        },
        replicate: async (to, change) => {
          calls.push(`${change.kind} ${to}`);
          if (unreachable.has(to) || broken.has(to)) throw new Error("away");
          const changed = await (peers.get(to) as RmRegistry).apply(change);
          if (mute.has(to)) throw new Error("the answer is lost");
          return changed;
        },
      },
    });
  });
  const everywhere = () => [own, ...peers.values()].map((each) => each.has(CHANGE));

  it("is made everywhere, and making it again changes nothing", async () => {
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
    expect(everywhere()).toEqual([true, true, true]);
    expect(await replicator.apply({ ...CHANGE, kind: "unregister" })).toEqual({ kind: "applied" });
    expect(everywhere()).toEqual([false, false, false]);
    expect(own.backends()).toEqual([]);
  });

  it("is not even begun if a member cannot be reached", async () => {
    unreachable.add("b");
    expect(await replicator.apply(CHANGE)).toMatchObject({ kind: "failed", endpoint: "b" });
    expect(calls).toEqual(["reach a", "reach b"]);
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("is taken back everywhere if a member fails at it", async () => {
    broken.add("b");
    expect(await replicator.apply(CHANGE)).toMatchObject({ kind: "failed", endpoint: "b" });
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("is taken back where it was made and the answer was lost, as soon as that can be reached", async () => {
    mute.add("b");
    expect((await replicator.apply(CHANGE)).kind).toBe("failed");
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("is owed where it cannot be taken back at once, and settled later", async () => {
    mute.add("b");
    const registry = peers.get("b") as RmRegistry;
    const apply = registry.apply.bind(registry);
    // After it was made there, the network is cut.
    registry.apply = async (change) => {
      const changed = await apply(change);
      unreachable.add("b");
      return changed;
    };
    await replicator.apply(CHANGE);
    expect(everywhere()).toEqual([false, false, true]);
    registry.apply = apply;
    await replicator.settle();
    expect(everywhere()).toEqual([false, false, true]);
    unreachable.clear();
    mute.clear();
    await replicator.settle();
    expect(everywhere()).toEqual([false, false, false]);
  });

  it("that was there before at all is not removed by a failure to make it again", async () => {
    await replicator.apply(CHANGE);
    broken.add("b");
    expect((await replicator.apply(CHANGE)).kind).toBe("failed");
    expect(everywhere()).toEqual([true, true, true]);
  });

  it("of the other kind is taken back just so", async () => {
    await replicator.apply(CHANGE);
    broken.add("b");
    expect((await replicator.apply({ ...CHANGE, kind: "unregister" })).kind).toBe("failed");
    expect(everywhere()).toEqual([true, true, true]);
  });

  it("asks nobody who is no member any more", async () => {
    unreachable.add("b");
    peers.delete("b");
    expect(await replicator.apply(CHANGE)).toEqual({ kind: "applied" });
  });
});

describe("a registry that was away", () => {
  it("takes the whole of a newer one, and nothing of an older", async () => {
    const registry = new RmRegistry(await OwnRecords.open(new MemoryStore()), new VirtualClock());
    await registry.apply(CHANGE);
    const { updatedAtUnix } = registry;
    const other = [{ backendHash: "x", endpoints: ["https://x:1"] }];
    expect(await registry.adopt(other, updatedAtUnix)).toBe(false);
    expect(registry.has(CHANGE)).toBe(true);
    expect(await registry.adopt(other, updatedAtUnix + 1)).toBe(true);
    expect(registry.endpoints()).toEqual(["https://x:1"]);
  });
});
