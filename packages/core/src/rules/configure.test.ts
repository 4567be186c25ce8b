import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD, type ElectionRecord, type GroupConfig, type Holder } from "../record.js";
import { decideCampaign } from "./campaign.js";
import { decideCreate, decideDelete, decideUpdate } from "./configure.js";
import type { OperatorDecision } from "./operate.js";

const ORDER = { by: "operator", reason: "drill", tsMs: 5 };
const STAMP = { wallMs: 5, by: "operator" };
const holder: Holder = { nodeId: "a", instanceId: "i1", ttlMs: 1_000, priority: 0, metadata: null };
const led: ElectionRecord = { ...EMPTY_RECORD, term: 7, holder, holdMs: 1_010, eventNumber: 3 };
const config: GroupConfig = { policy: { ...DEFAULT_POLICY, takeoverDelayMs: 300 }, allowedNodes: ["a"] };

function remove(record: ElectionRecord, force: boolean, ageMs = 0): OperatorDecision {
  return decideDelete({ record, ageMs }, force, ORDER, STAMP);
}

describe("decideCreate", () => {
  test("creating a group makes it explicit and leaves its leader unchanged", () => {
    expect(decideCreate({ record: led, ageMs: 10 }, config, ORDER)).toEqual({
      kind: "write",
      next: {
        ...led,
        holdMs: 1_000,
        config,
        act: { number: 1, act: "create", ...ORDER, term: 7 },
      },
      events: [],
    });
  });

  test("creating a group that was created before is a conflict", () => {
    expect(decideCreate({ record: { ...led, config }, ageMs: 0 }, config, ORDER)).toMatchObject({
      kind: "conflict",
    });
  });

  test("a deleted group can be created again, and its term continues", () => {
    const deleted = { ...EMPTY_RECORD, term: 7, eventNumber: 4, deleted: true };
    expect(decideCreate({ record: deleted, ageMs: 0 }, config, ORDER)).toMatchObject({
      kind: "write",
      next: { term: 7, eventNumber: 4, config, deleted: false },
    });
  });
});

describe("decideUpdate", () => {
  test("an update changes the current configuration, not an older one", () => {
    const record = { ...led, config };
    const decision = decideUpdate(
      { record, ageMs: 10 },
      (present) => {
        expect(present).toBe(config);
        return { policy: DEFAULT_POLICY, allowedNodes: null };
      },
      ORDER,
    );
    expect(decision).toEqual({
      kind: "write",
      next: {
        ...led,
        holdMs: 1_000,
        config: { policy: DEFAULT_POLICY, allowedNodes: null },
        act: {
          number: 1,
          act: "update",
          ...ORDER,
          term: 7,
          changes: ["takeover_delay_ms: 300 -> 0", "allowed_nodes: a -> all"],
        },
      },
      events: [],
    });
  });

  test("an update of a group without a configuration starts from null", () => {
    decideUpdate(
      { record: led, ageMs: 0 },
      (present) => {
        expect(present).toBeNull();
        return config;
      },
      ORDER,
    );
  });

  test("an update deposes a leader that is no longer allowed, and does not shorten its lease", () => {
    const only = { ...config, allowedNodes: ["z"] };
    const expected = { next: { holder, holdMs: 1_010, deposed: { by: "operator" } }, events: [] };
    expect(decideUpdate({ record: led, ageMs: 0 }, () => only, ORDER)).toMatchObject(expected);
    expect(decideCreate({ record: led, ageMs: 0 }, only, ORDER)).toMatchObject(expected);
  });

  test("an update keeps the name of the operator who deposed the leader before", () => {
    const record = { ...led, deposed: { by: "jane" } };
    const only = { ...config, allowedNodes: ["z"] };
    expect(decideUpdate({ record, ageMs: 0 }, () => only, { ...ORDER, by: "joe" })).toMatchObject({
      next: { deposed: { by: "jane" } },
    });
  });

  test("an update withdraws a transfer to a node that is no longer allowed, and no other transfer", () => {
    const transfer = { toNodeId: "b", leftMs: 9_000, ready: true, by: "operator" };
    const record = { ...led, transfer };
    const only = (...allowedNodes: string[]) =>
      decideUpdate({ record, ageMs: 0 }, () => ({ ...config, allowedNodes }), ORDER);
    expect(only("a", "c")).toMatchObject({ next: { deposed: null, transfer: null } });
    expect(only("a", "b")).toMatchObject({ next: { deposed: null, transfer } });
  });

  test("an update of a deleted or unknown group is not found", () => {
    const deleted = { ...EMPTY_RECORD, term: 7, deleted: true };
    for (const record of [deleted, EMPTY_RECORD])
      expect(decideUpdate({ record, ageMs: 0 }, () => config, ORDER)).toEqual({ kind: "not-found" });
  });

  test("an update does not extend a running takeover delay", () => {
    const vacant = { ...EMPTY_RECORD, term: 7, delayMs: 200 };
    expect(decideUpdate({ record: vacant, ageMs: 50 }, () => config, ORDER)).toMatchObject({
      next: { delayMs: 150 },
    });
  });
});

describe("decideDelete", () => {
  const full: ElectionRecord = {
    ...led,
    holder: null,
    holdMs: 0,
    bans: [{ nodeId: "x", leftMs: 9_000 }],
    transfer: { toNodeId: "b", leftMs: 9_000, ready: true, by: null },
    pause: { leftMs: null },
    delayMs: 9_000,
    config,
    ended: { term: 7, nodeId: "a", instanceId: "i1", reason: "resigned" },
  };

  test("a deletion empties the record and keeps the term and the event number", () => {
    expect(remove(full, false)).toEqual({
      kind: "write",
      next: {
        ...EMPTY_RECORD,
        term: 7,
        eventNumber: 3,
        ended: full.ended,
        act: { number: 1, act: "delete", ...ORDER, term: 7 },
        deleted: true,
      },
      events: [],
    });
  });

  test("after a deletion terms and event numbers continue, so none is used twice", () => {
    const decision = remove(led, true);
    if (decision.kind !== "write") throw new Error("a forced deletion is a write");
    expect(decideCampaign({ record: decision.next, ageMs: 0 }, holder, 0.01, STAMP)).toMatchObject({
      kind: "elect",
      next: { term: 8, eventNumber: 5 },
      events: [{ number: 5, type: "LEADER_CHANGED", term: 8 }],
    });
  });

  test("deleting a led group needs force, and then deposes its leader", () => {
    expect(remove(led, false, 1_009)).toMatchObject({ kind: "conflict" });
    expect(remove(led, true)).toMatchObject({
      kind: "write",
      next: { holder: null, holdMs: 0, ended: { term: 7, reason: "deposed" } },
      events: [{ number: 4, type: "LEADER_LOST", term: 7, reason: "deposed", by: "operator" }],
    });
  });

  test("deleting a group whose lease is over needs no force, and the event says expired", () => {
    expect(remove({ ...led, config }, false, 1_010)).toMatchObject({
      kind: "write",
      next: { holder: null, delayMs: 0, config: null },
      events: [{ reason: "expired" }],
    });
  });

  test("deleting a deleted or unknown group is not found", () => {
    expect(remove({ ...EMPTY_RECORD, term: 7, deleted: true }, true)).toEqual({ kind: "not-found" });
    expect(remove(EMPTY_RECORD, true)).toEqual({ kind: "not-found" });
  });
});
