import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeHistory, decodeRecord, encodeHistory, encodeRecord } from "./codec.js";
import type { EndReason, LeadershipEvent } from "./event.js";
import type { OperatorAct, Order } from "./operator-act.js";
import { DEFAULT_POLICY } from "./policy.js";
import { EMPTY_RECORD, type ElectionRecord, type GroupConfig, type Holder } from "./record.js";
import { decideCampaign } from "./rules/campaign.js";
import { decideRenew } from "./rules/renew.js";

const runs = (least: number) => ({ numRuns: Math.max(least, fc.readConfigureGlobal().numRuns ?? 0) });

const id = fc.stringMatching(/^[A-Za-z0-9._:/-]{1,20}$/);
const orNull = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null });
const durationMs = fc.integer({ min: 1, max: 86_400_000 });
const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 100 });
const reason = fc.constantFrom<EndReason>("expired", "resigned", "deposed", "transferred");
// Normalized by JSON once, so without -0 and undefined.
const metadata = fc
  .dictionary(fc.string(), fc.jsonValue())
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

const holder: fc.Arbitrary<Holder> = fc.record({
  nodeId: id,
  instanceId: orNull(id),
  ttlMs: durationMs,
  priority: fc.integer({ min: -1_000_000, max: 1_000_000 }).map((n) => n || 0),
  metadata: orNull(metadata),
});

const event = fc
  .record({
    term: count,
    leaderNodeId: orNull(id),
    previousLeaderNodeId: orNull(id),
    reason: fc.oneof(reason, fc.constant("none" as const)),
    tsMs: count,
    by: orNull(id),
    silentMs: orNull(count),
  })
  .map(({ by, silentMs, ...rest }): Omit<LeadershipEvent, "number"> => ({
    type: rest.leaderNodeId === null ? "LEADER_LOST" : "LEADER_CHANGED",
    ...rest,
    ...(by === null ? {} : { by }),
    ...(silentMs === null ? {} : { silentMs }),
  }));

const order: fc.Arbitrary<Order> = fc.record({
  by: id,
  reason: orNull(fc.string({ minLength: 1, maxLength: 20 })),
  tsMs: count,
});

/** Absent where a version wrote the mark that did not keep it. */
const ordered = orNull(order).map((each) => (each === null ? {} : { order: each }));

const act: fc.Arbitrary<OperatorAct> = fc
  .tuple(
    order,
    fc.record({ number: count, act: fc.constantFrom("pause" as const, "step-down" as const), term: count }),
    fc.record(
      {
        nodeId: id,
        forMs: durationMs,
        force: fc.constant(true as const),
        changes: fc.array(id, { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([who, what, more]) => ({ ...who, ...what, ...more }));

const config: fc.Arbitrary<GroupConfig> = fc.record({
  policy: fc.record({
    minTtlMs: durationMs,
    maxTtlMs: durationMs,
    takeoverDelayMs: durationMs,
    strategy: fc.constantFrom("first" as const, "priority" as const),
    preempt: fc.boolean(),
    retry: fc.constant(DEFAULT_POLICY.retry),
  }),
  allowedNodes: orNull(fc.array(id, { maxLength: 4 })),
});

const record: fc.Arbitrary<ElectionRecord> = fc
  .record({
    term: count,
    holder: orNull(holder),
    holdMs: fc.oneof(fc.constant(0), durationMs),
    deposed: orNull(fc.record({ by: id })),
    bans: fc.array(
      fc
        .tuple(fc.record({ nodeId: id, leftMs: durationMs }), ordered)
        .map(([ban, by]) => ({ ...ban, ...by })),
      { maxLength: 3 },
    ),
    transfer: orNull(
      fc.record(
        {
          toNodeId: id,
          leftMs: durationMs,
          ready: fc.boolean(),
          by: orNull(id),
          allowCold: fc.constant(true as const),
        },
        { requiredKeys: ["toNodeId", "leftMs", "ready", "by"] },
      ),
    ),
    pause: orNull(fc.tuple(orNull(durationMs), ordered).map(([leftMs, by]) => ({ leftMs, ...by }))),
    delayMs: fc.oneof(fc.constant(0), durationMs),
    ended: orNull(fc.record({ term: count, nodeId: id, instanceId: orNull(id), reason })),
    first: count,
    events: fc.array(event, { maxLength: 4 }),
    act: orNull(act),
    config: orNull(config),
    founder: orNull(id),
    deleted: fc.boolean(),
  })
  .map(({ first, events, ...rest }) => ({
    ...rest,
    eventNumber: first + events.length,
    events: events.map((each, index) => ({ number: first + 1 + index, ...each })),
  }));

describe("the codec of records", () => {
  test("a record is decoded as it was encoded", () => {
    fc.assert(
      fc.property(record, (written) => {
        expect(decodeRecord(encodeRecord(written))).toEqual(written);
      }),
      runs(1_000),
    );
  });

  test("an empty record is decoded as the empty record", () => {
    expect(decodeRecord(encodeRecord(EMPTY_RECORD))).toEqual(EMPTY_RECORD);
    expect(encodeRecord(EMPTY_RECORD)).toBe('{"v":1,"term":0}');
  });

  test("a record keeps its metadata, whatever the keys are called", () => {
    const metadata = JSON.parse('{"__proto__":{"x":1},"constructor":2,"v":3,"term":4}') as object;
    const written = { ...EMPTY_RECORD, term: 1, holder: { ...someHolder("n"), metadata: { ...metadata } } };
    const read = decodeRecord(encodeRecord(written));
    expect(JSON.stringify(read.holder?.metadata)).toBe(JSON.stringify(written.holder.metadata));
    expect(Object.getPrototypeOf(read.holder?.metadata)).toBe(Object.prototype);
  });

  test.each([
    ["short names", 400, ["worker-1", "worker-2", "worker-3"]],
    ["names of pods", 512, ["worker-7f9c4d-x2x1b", "worker-7f9c4d-k8q7z", "worker-7f9c4d-p5m3t"]],
  ])("a renewed record with %s and a uuid stays under %i bytes", (_, bytes, nodeIds) => {
    let led = EMPTY_RECORD;
    for (const nodeId of nodeIds) {
      const seen = { record: led, ageMs: 1e9 };
      const decision = decideCampaign(seen, someHolder(nodeId), 0.01, { wallMs: 1_700_000_000_000 });
      if (decision.kind !== "elect") throw new Error("a lease that is over may be won");
      led = { ...decision.next, term: decision.next.term + 1_000 };
    }
    expect(led.events).toHaveLength(4);
    const claim = { nodeId: led.holder!.nodeId, term: led.term, instanceId: null };
    const renewal = decideRenew({ record: led, ageMs: 3_000 }, claim, 10_000, 0.01);
    if (renewal.kind !== "renew") throw new Error("the holder may renew");
    expect(Buffer.byteLength(encodeRecord(renewal.next))).toBeLessThan(bytes);
  });

  test.each([2, 0, "1", undefined])(
    "a record or history of format %s is refused, and nothing in it is read",
    (v) => {
      const value = JSON.stringify({ v, term: 5, node: "a" });
      expect(() => decodeRecord(value)).toThrow(/format .* this version reads 1/);
      expect(() => decodeHistory(JSON.stringify({ v, nos: [], ev: [] }))).toThrow(/format/);
    },
  );

  test("a record and a history of versions without acts are read, and lack only what those versions did not keep", () => {
    const value =
      '{"v":1,"term":7,"hold":4000,"node":"a","ttl":5000,"deposed":"jane","bans":[["b",5000]],"pause":0,"ended":[6,"b","expired"],' +
      '"no":9,"ev":[[6,0,"b","expired",40],[7,"a","b","deposed",50,"jane"]]}';
    const read = decodeRecord(value);
    expect(read).toMatchObject({
      term: 7,
      bans: [{ nodeId: "b", leftMs: 5000 }],
      pause: { leftMs: null },
      act: null,
      events: [
        { number: 8, type: "LEADER_LOST", reason: "expired", tsMs: 40 },
        { number: 9, type: "LEADER_CHANGED", reason: "deposed", by: "jane" },
      ],
    });
    expect(read.pause?.order ?? read.bans[0]?.order ?? read.events[0]?.silentMs).toBeUndefined();
    expect(decodeRecord(encodeRecord(read))).toEqual(read);
    expect(decodeHistory('{"v":1,"nos":[8],"ev":[[6,0,"b","resigned",40]]}')).toMatchObject({
      events: [{ number: 8, reason: "resigned" }],
      acts: [],
    });
  });

  test("the last act adds less than 120 bytes to a renewed record, apart from its operator, its reason and its changes", () => {
    const led = { ...EMPTY_RECORD, term: 1_000, holder: someHolder("worker-1") };
    const by = "jane";
    const reason = "migration of the database";
    const act = {
      number: 1_000,
      act: "step-down",
      by,
      reason,
      tsMs: 1_700_000_000_000,
      term: 1_000,
    } as const;
    const more = { nodeId: "worker-1", forMs: 86_400_000, force: true } as const;
    const grown = encodeRecord({ ...led, act: { ...act, ...more } }).length - encodeRecord(led).length;
    expect(grown - by.length - reason.length).toBeLessThan(120);
  });

  test("a damaged record is refused", () => {
    expect(() => decodeRecord('{"v":1,"term":5')).toThrow(SyntaxError);
    expect(() => decodeRecord("")).toThrow(SyntaxError);
  });
});

describe("the codec of histories", () => {
  test("a history is decoded as it was encoded, including gaps in the event numbers", () => {
    const numbers = fc.uniqueArray(count, { maxLength: 64 }).map((some) => some.sort((a, b) => a - b));
    fc.assert(
      fc.property(
        numbers,
        fc.array(event, { minLength: 64, maxLength: 64 }),
        fc.array(act),
        (some, events, acts) => {
          const written = some.map((number, index) => ({ number, ...events[index]! }));
          const history = { events: written, acts };
          expect(decodeHistory(encodeHistory(history))).toEqual(history);
        },
      ),
      runs(300),
    );
  });
});

function someHolder(nodeId: string): Holder {
  const instanceId = "3f2504e0-4f89-11d3-9a0c-0305e82c3301";
  return { nodeId, instanceId, ttlMs: 10_000, priority: 0, metadata: null };
}
