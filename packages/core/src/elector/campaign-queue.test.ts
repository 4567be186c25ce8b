import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TransferMark } from "../record.js";
import { CampaignQueue } from "./campaign-queue.js";
import { Waiter } from "./waiter.js";

interface WaiterOptions {
  readonly priority?: number;
  readonly waitMs?: number;
  readonly ready?: boolean;
  readonly instanceId?: string;
  readonly signal?: AbortSignal;
}

function waiter(nodeId: string, options: WaiterOptions = {}) {
  const { priority = 0, waitMs = 1_000, ready = true, instanceId = null, signal } = options;
  const candidate = { nodeId, instanceId, ttlMs: 1_000, priority, metadata: null };
  return new Waiter({ candidate, ready, waitMs }, 0, signal);
}

function mark(toNodeId: string): TransferMark {
  return { toNodeId, leftMs: 1_000, ready: true, by: null };
}

const anyone = () => true;

describe("the next winner of a queue", () => {
  test("the next winner is the candidate that came first, even if it entered the queue later", () => {
    const queue = new CampaignQueue();
    const early = waiter("a");
    queue.add(waiter("b"));
    queue.add(early);
    expect(queue.first("first", anyone)).toBe(early);
  });

  test('with strategy "priority" the next winner has the highest priority, the first to come among equals', () => {
    const queue = new CampaignQueue();
    const [low, high, equal] = [waiter("a"), waiter("b", { priority: 5 }), waiter("c", { priority: 5 })];
    for (const each of [low, equal, high]) queue.add(each);
    expect(queue.first("priority", anyone)).toBe(high);
    expect(queue.first("first", anyone)).toBe(low);
  });

  test("the next winner is a ready candidate before any cold one, and a cold one if no ready one may win", () => {
    const queue = new CampaignQueue();
    const [early, important] = [waiter("a", { ready: false }), waiter("b", { ready: false, priority: 9 })];
    const ready = waiter("c");
    for (const each of [early, important, ready]) queue.add(each);
    for (const strategy of ["first", "priority"] as const) {
      expect(queue.first(strategy, anyone)).toBe(ready);
    }
    expect(queue.first("first", (nodeId) => nodeId !== "c")).toBe(early);
    expect(queue.first("priority", (nodeId) => nodeId !== "c")).toBe(important);
  });

  test("a candidate that may not win, has disconnected or is named by a write in flight is not the next winner", () => {
    const queue = new CampaignQueue();
    const hangUp = new AbortController();
    const [banned, gone, named, free] = [
      waiter("a"),
      waiter("b", { signal: hangUp.signal }),
      waiter("c"),
      waiter("d"),
    ];
    for (const each of [banned, gone, named, free]) queue.add(each);
    hangUp.abort();
    queue.name(named);
    expect(queue.first("first", (nodeId) => nodeId !== "a")).toBe(free);
    // Candidates that were passed over keep their places.
    expect(queue.first("first", anyone)).toBe(banned);
    queue.remove(banned);
    queue.unname(named);
    expect(queue.first("first", anyone)).toBe(named);
  });
});

describe("the place of a campaign in the queue", () => {
  const ended = (queue: CampaignQueue, nodeId: string) => {
    const leaving = waiter(nodeId, { waitMs: 10 });
    queue.add(leaving);
    queue.takeEnded(10, 1);
    return leaving;
  };

  test("the place goes to the next campaign of the same node and instance that comes within a second", () => {
    const queue = new CampaignQueue();
    ended(queue, "a");
    const other = waiter("b");
    queue.add(other);
    const [next, late] = [waiter("a"), waiter("a")];
    queue.restorePlace(next, 1009);
    queue.restorePlace(late, 1010);
    queue.add(next);
    expect(queue.first("first", anyone)).toBe(next);
    expect(late.order).toBeGreaterThan(other.order);
  });

  test("the place does not go to another instance of the node", () => {
    const queue = new CampaignQueue();
    ended(queue, "a");
    const next = waiter("a", { instanceId: "i2" });
    const { order } = next;
    queue.restorePlace(next, 20);
    expect(next.order).toBe(order);
  });

  test("the place is kept for a disconnected candidate that campaigns again because it became ready", () => {
    const queue = new CampaignQueue();
    const [cold, other] = [waiter("a", { ready: false }), waiter("b")];
    for (const each of [cold, other]) queue.add(each);
    queue.leave(cold, 50);
    const ready = waiter("a");
    queue.restorePlace(ready, 60);
    queue.add(ready);
    expect(queue.first("first", anyone)).toBe(ready);
  });

  test("the place is given up after a second, and then an empty queue is idle", () => {
    const queue = new CampaignQueue();
    ended(queue, "a");
    expect(queue.isIdle).toBe(false);
    queue.takeEnded(1009, 1);
    expect(queue.isIdle).toBe(false);
    queue.takeEnded(1010, 1);
    expect(queue.isIdle).toBe(true);
    expect(queue.nextEndMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test("the place of an elected campaign is not kept", () => {
    const queue = new CampaignQueue();
    const winner = waiter("a");
    queue.add(winner);
    queue.name(winner);
    queue.remove(winner);
    expect(queue.isIdle).toBe(true);
  });
});

describe("the end of a wait in the queue", () => {
  test("a wait does not end while a write in flight names its campaign, and does once that write has failed", () => {
    const queue = new CampaignQueue();
    const only = waiter("a", { waitMs: 50 });
    queue.add(only);
    queue.name(only);
    expect(queue.nextEndMs()).toBe(Number.POSITIVE_INFINITY);
    expect(queue.takeEnded(100, 10)).toEqual([]);
    queue.unname(only);
    expect(queue.nextEndMs()).toBe(50);
    expect(queue.takeEnded(100, 10)).toEqual([only]);
    expect(queue.size).toBe(0);
  });

  test("at most as many waits end at once as were asked for", () => {
    const queue = new CampaignQueue();
    for (let i = 0; i < 5; i++) queue.add(waiter(`n${i}`, { waitMs: 10 }));
    expect(queue.takeEnded(10, 3)).toHaveLength(3);
    expect(queue.takeEnded(10, 3)).toHaveLength(2);
  });
});

describe("the departure of a successor from the queue", () => {
  test("a successor has departed when its last campaign leaves, until it returns or the record names another", () => {
    const queue = new CampaignQueue();
    const [one, two] = [waiter("b"), waiter("b")];
    queue.successor = mark("b");
    for (const each of [one, two, waiter("c")]) queue.add(each);
    queue.remove(one);
    expect(queue.departed).toBeNull();
    queue.remove(two);
    expect(queue.departed).toBe("b");
    const back = waiter("b");
    queue.add(back);
    expect(queue.departed).toBeNull();
    queue.remove(back);
    queue.successor = null;
    expect(queue.departed).toBeNull();
  });

  test("a successor whose wait has ended has departed when its place is given up, and not before", () => {
    const queue = new CampaignQueue();
    queue.successor = mark("b");
    queue.add(waiter("b", { waitMs: 10 }));
    queue.takeEnded(10, 1);
    expect(queue.departed).toBeNull();
    expect(queue.nextEndMs()).toBe(1010);
    queue.takeEnded(1010, 1);
    expect(queue.departed).toBe("b");
  });

  test("a successor whose wait has ended and that campaigns again in time has not departed", () => {
    const queue = new CampaignQueue();
    queue.successor = mark("b");
    queue.add(waiter("b", { waitMs: 10 }));
    queue.takeEnded(10, 1);
    queue.add(waiter("b", { waitMs: 5_000 }));
    queue.takeEnded(1010, 1);
    expect(queue.departed).toBeNull();
  });

  test("a successor whose wait has ended and that disconnects before the answer has departed at once", () => {
    const queue = new CampaignQueue();
    const ended = waiter("b", { waitMs: 10 });
    queue.successor = mark("b");
    queue.add(ended);
    queue.takeEnded(10, 1);
    queue.leave(ended, 11);
    expect(queue.departed).toBe("b");
  });

  test("a successor that waits again has not departed when its first, ended campaign disconnects", () => {
    const queue = new CampaignQueue();
    const ended = waiter("b", { waitMs: 10 });
    queue.successor = mark("b");
    queue.add(ended);
    queue.takeEnded(10, 1);
    queue.add(waiter("b", { waitMs: 5_000 }));
    queue.leave(ended, 11);
    expect(queue.departed).toBeNull();
  });

  test("a successor of a later transfer has not departed when a campaign from an earlier transfer disconnects", () => {
    const queue = new CampaignQueue();
    const ended = waiter("b", { waitMs: 10 });
    queue.successor = mark("b");
    queue.add(ended);
    queue.takeEnded(10, 1);
    queue.successor = null;
    queue.successor = mark("b");
    queue.leave(ended, 11);
    expect(queue.departed).toBeNull();
  });

  test("a successor of a later transfer that waits at another server has not departed with its old place here", () => {
    const queue = new CampaignQueue();
    queue.successor = mark("b");
    queue.add(waiter("b", { waitMs: 10 }));
    queue.takeEnded(10, 1);
    queue.successor = null;
    queue.successor = mark("b");
    queue.takeEnded(1010, 1);
    expect(queue.departed).toBeNull();
  });

  test("a successor that never waited here has not departed", () => {
    const queue = new CampaignQueue();
    const other = waiter("c");
    queue.add(other);
    queue.successor = mark("b");
    queue.remove(other);
    expect(queue.departed).toBeNull();
  });

  test("a successor has departed when its last ready campaign leaves, even if a cold one stays", () => {
    const queue = new CampaignQueue();
    const [ready, stays] = [waiter("b"), waiter("b", { ready: false })];
    queue.successor = mark("b");
    for (const each of [ready, stays]) queue.add(each);
    queue.remove(ready);
    expect(queue.departed).toBe("b");
    queue.add(waiter("b", { ready: false }));
    expect(queue.departed).toBe("b");
    queue.add(waiter("b"));
    expect(queue.departed).toBeNull();
  });

  test("a successor has not departed while its cold campaign stays, if the operator allowed a cold successor", () => {
    const queue = new CampaignQueue();
    const [ready, stays] = [waiter("b"), waiter("b", { ready: false })];
    queue.successor = { ...mark("b"), allowCold: true };
    for (const each of [ready, stays]) queue.add(each);
    queue.remove(ready);
    expect(queue.departed).toBeNull();
    queue.remove(stays);
    expect(queue.departed).toBe("b");
  });
});

/** A naive model of the queue: a list of campaigns and a list of kept places, searched each time. */
class NaiveQueue {
  list: Waiter[] = [];
  places: { nodeId: string; order: number; untilMs: number }[] = [];

  add(added: Waiter): void {
    this.list.push(added);
    this.list.sort((a, b) => a.order - b.order);
    this.#forget(added.candidate.nodeId);
  }

  orderOf(nodeId: string, own: number, nowMs: number): number {
    const kept = this.places.find((each) => each.nodeId === nodeId && each.untilMs > nowMs);
    return Math.min(own, kept?.order ?? own);
  }

  drop(one: Waiter): void {
    this.list = this.list.filter((other) => other !== one);
  }

  leave(one: Waiter, nowMs: number): void {
    this.drop(one);
    const { nodeId } = one.candidate;
    this.#forget(nodeId);
    this.places.push({ nodeId, order: one.order, untilMs: nowMs + 1000 });
  }

  end(nowMs: number): readonly Waiter[] {
    this.places = this.places.filter(({ untilMs }) => untilMs > nowMs);
    const ended = this.queued.filter((one) => one.endsAtMs <= nowMs);
    for (const one of [...ended].sort((a, b) => a.endsAtMs - b.endsAtMs)) this.leave(one, nowMs);
    return ended;
  }

  get queued(): readonly Waiter[] {
    return this.list.filter((one) => one.state === "queued");
  }

  get nextEndMs(): number {
    return Math.min(...this.queued.map((one) => one.endsAtMs), ...this.places.map(({ untilMs }) => untilMs));
  }

  #forget(nodeId: string): void {
    this.places = this.places.filter((each) => each.nodeId !== nodeId);
  }
}

test("a queue agrees with a plain list for any sequence of arrivals, departures, returns and writes in flight", () => {
  const act = fc.oneof(
    fc.record({
      kind: fc.constant("add" as const),
      nodeId: fc.constantFrom("n0", "n1", "n2"),
      priority: fc.integer({ min: -1, max: 1 }),
      ready: fc.boolean(),
      // Different for each campaign, so that the order of their ends is unambiguous.
      waitMs: fc.double({ min: 1, max: 2_000, noNaN: true }),
    }),
    fc.record({ kind: fc.constantFrom("remove", "leave", "name", "unname"), at: fc.nat() }),
    fc.record({ kind: fc.constant("end" as const) }),
    fc.record({ kind: fc.constant("advance" as const), byMs: fc.integer({ min: 0, max: 600 }) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
      const queue = new CampaignQueue();
      const naive = new NaiveQueue();
      let nowMs = 0;
      for (const each of acts) {
        if ("byMs" in each) nowMs += each.byMs;
        else if ("nodeId" in each) {
          const added = waiter(each.nodeId, { ...each, waitMs: nowMs + each.waitMs });
          const order = naive.orderOf(each.nodeId, added.order, nowMs);
          queue.restorePlace(added, nowMs);
          expect(added.order).toBe(order);
          queue.add(added);
          naive.add(added);
        } else if ("at" in each) {
          const chosen = naive.list[each.at % Math.max(1, naive.list.length)];
          if (chosen === undefined) continue;
          if (each.kind === "remove") {
            queue.remove(chosen);
            naive.drop(chosen);
          } else if (each.kind === "leave") {
            queue.leave(chosen, nowMs);
            naive.leave(chosen, nowMs);
          } else if (each.kind === "name") queue.name(chosen);
          else queue.unname(chosen);
        } else {
          const wanted = naive.end(nowMs);
          expect(new Set(queue.takeEnded(nowMs, 1_000))).toEqual(new Set(wanted));
        }
        const { queued } = naive;
        const ready = queued.filter((one) => one.ready);
        const preferred = ready.length > 0 ? ready : queued;
        const highest = Math.max(...preferred.map((one) => one.candidate.priority));
        expect(queue.first("first", anyone)).toBe(preferred[0] ?? null);
        expect(queue.first("priority", anyone)).toBe(
          preferred.find((one) => one.candidate.priority === highest) ?? null,
        );
        expect(queue.size).toBe(naive.list.length);
        expect(queue.nextEndMs()).toBe(naive.nextEndMs);
        expect(queue.of("n1")).toEqual(queued.filter((one) => one.candidate.nodeId === "n1"));
      }
    }),
  );
});
