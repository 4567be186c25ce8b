import { expect, test } from "vitest";
import { DEFAULT_POLICY } from "../policy.js";
import { EMPTY_RECORD } from "../record.js";
import { changesOf, isSameAct, withAct } from "./acts.js";

const ORDER = { by: "jane", reason: "drill", tsMs: 5 };

test("acts of a group are numbered one after the other", () => {
  const first = withAct({ ...EMPTY_RECORD, term: 3 }, ORDER, { act: "pause" });
  expect(first.act).toEqual({ number: 1, act: "pause", ...ORDER, term: 3 });
  expect(withAct(first, ORDER, { act: "resume" }).act?.number).toBe(2);
});

test("two acts are the same only if their content is the same, too", () => {
  const { act } = withAct(EMPTY_RECORD, ORDER, { act: "step-down", nodeId: "a", changes: ["x"] });
  if (act === null) throw new Error("the record has an act");
  expect(isSameAct(act, { ...act, changes: ["x"] })).toBe(true);
  for (const other of [
    null,
    { ...act, number: 2 },
    { ...act, force: true as const },
    { ...act, nodeId: "b" },
    { ...act, forMs: 5 },
    { ...act, reason: null },
    { ...act, changes: ["y"] },
  ])
    expect(isSameAct(act, other)).toBe(false);
});

test("the changes of an update name each field that changes, in the names of the API", () => {
  const policy = { ...DEFAULT_POLICY, maxTtlMs: 30_000, retry: { ...DEFAULT_POLICY.retry, jitter: 0.5 } };
  expect(changesOf(EMPTY_RECORD, { policy, allowedNodes: ["a", "b"] })).toEqual([
    "max_ttl_ms: 60000 -> 30000",
    "retry.jitter: 0.2 -> 0.5",
    "allowed_nodes: all -> a, b",
  ]);
  const config = { policy, allowedNodes: [] };
  expect(changesOf({ ...EMPTY_RECORD, config }, config)).toEqual([]);
});

test("a long list of allowed nodes is cut in the text of a change", () => {
  const allowedNodes = Array.from({ length: 100 }, (_, index) => `node-${index}`);
  const [change = ""] = changesOf(EMPTY_RECORD, { policy: DEFAULT_POLICY, allowedNodes });
  expect(change).toHaveLength(200);
});
