import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TransferMark } from "../record.js";
import { CampaignQueue } from "./campaign-queue.js";
import { Waiter } from "./waiter.js";

interface WaiterOptions {
  readonly priority?: number;
  readonly waitMs?: number;
  readonly ready?: boolean;
  readonly signal?: AbortSignal;
}

function waiter(nodeId: string, options: WaiterOptions = {}) {
  const { priority = 0, waitMs = 1_000, ready = true, signal } = options;
  const candidate = { nodeId, instanceId: null, ttlMs: 1_000, priority, metadata: null };
  return new Waiter({ candidate, ready, waitMs }, 0, signal);
}

function mark(toNodeId: string): TransferMark {
  return { toNodeId, leftMs: 1_000, ready: true, by: null };
}

const anyone = () => true;

describe("the first of a queue", () => {
  test("is the first to come, also where one was held up on its way into the queue", () => {
    const queue = new CampaignQueue();
    const early = waiter("a");
    queue.add(waiter("b"));
    queue.add(early);
    expect(queue.first("first", anyone)).toBe(early);
  });

  test("is the highest priority where the strategy says so, and the first to come among equals", () => {
    const queue = new CampaignQueue();
    const [low, high, equal] = [waiter("a"), waiter("b", { priority: 5 }), waiter("c", { priority: 5 })];
    for (const each of [low, equal, high]) queue.add(each);
    expect(queue.first("priority", anyone)).toBe(high);
    expect(queue.first("first", anyone)).toBe(low);
  });

  test("is a ready one before any cold one, and a cold one where no ready one may win", () => {
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

  test("is not one whose node may not win, who hung up, or whom a write in flight names", () => {
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
    // Those who were passed over keep their places.
    expect(queue.first("first", anyone)).toBe(banned);
    queue.remove(banned);
    queue.unname(named);
    expect(queue.first("first", anyone)).toBe(named);
  });
});

describe("the end of a wait", () => {
  test("is not looked for while a write in flight names the campaign, and is once that has failed", () => {
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

  test("comes for no more campaigns at once than asked for", () => {
    const queue = new CampaignQueue();
    for (let i = 0; i < 5; i++) queue.add(waiter(`n${i}`, { waitMs: 10 }));
    expect(queue.takeEnded(10, 3)).toHaveLength(3);
    expect(queue.takeEnded(10, 3)).toHaveLength(2);
  });
});

describe("a successor", () => {
  test("has departed when its last campaign leaves, until it is back or the record names another", () => {
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

  test("that never waited here has not departed", () => {
    const queue = new CampaignQueue();
    const other = waiter("c");
    queue.add(other);
    queue.successor = mark("b");
    queue.remove(other);
    expect(queue.departed).toBeNull();
  });

  test("has departed when its last ready campaign leaves, though a cold one stays", () => {
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

  test("has not departed while a cold campaign stays, where the operator has allowed a cold successor", () => {
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

test("whatever comes, goes and is named, a queue answers as a plain list does", () => {
  const act = fc.oneof(
    fc.record({
      kind: fc.constant("add" as const),
      priority: fc.integer({ min: -1, max: 1 }),
      ready: fc.boolean(),
      waitMs: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({ kind: fc.constantFrom("remove", "name", "unname"), at: fc.nat() }),
    fc.record({ kind: fc.constant("end" as const), nowMs: fc.integer({ min: 0, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
      const queue = new CampaignQueue();
      let list: Waiter[] = [];
      for (const each of acts) {
        if (each.kind === "add" && "priority" in each) {
          const added = waiter(`n${list.length % 3}`, each);
          queue.add(added);
          list.push(added);
        } else if (each.kind === "end" && "nowMs" in each) {
          const ended = queue.takeEnded(each.nowMs, 1_000);
          const isEnded = (one: Waiter) => one.endsAtMs <= each.nowMs && one.state !== "named";
          expect(new Set(ended)).toEqual(new Set(list.filter((one) => ended.includes(one) || isEnded(one))));
          list = list.filter((one) => !ended.includes(one));
        } else if ("at" in each && list.length > 0) {
          const chosen = list[each.at % list.length] as Waiter;
          if (each.kind === "remove") {
            queue.remove(chosen);
            list = list.filter((one) => one !== chosen);
          } else if (each.kind === "name") queue.name(chosen);
          else queue.unname(chosen);
        }
        const queued = list.filter((one) => one.state === "queued");
        const ready = queued.filter((one) => one.ready);
        const preferred = ready.length > 0 ? ready : queued;
        const highest = Math.max(...preferred.map((one) => one.candidate.priority));
        // The list is in order of arrival.
        expect(queue.first("first", anyone)).toBe(preferred[0] ?? null);
        expect(queue.first("priority", anyone)).toBe(
          preferred.find((one) => one.candidate.priority === highest) ?? null,
        );
        expect(queue.size).toBe(list.length);
        expect(queue.nextEndMs()).toBe(Math.min(...queued.map((one) => one.endsAtMs)));
        expect(queue.of("n1")).toEqual(queued.filter((one) => one.candidate.nodeId === "n1"));
      }
    }),
  );
});
