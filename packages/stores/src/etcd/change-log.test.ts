import { expect, test } from "vitest";
import { ChangeLog } from "./change-log.js";
import { Keyspace } from "./keyspace.js";
import { DELETED, type WatchEvent } from "./protocol.js";

const keyspace = new Keyspace("t");

/** The events of a batch as etcd sends them: the entries and then the head. */
function batch(revision: number, batches: number, ...keys: string[]): WatchEvent[] {
  const entries = keys.map((key) => ({
    kv: { key: `t//${key}`, mod_revision: revision, version: 1, value: `${revision}` },
  }));
  return [...entries, { kv: { key: "t//", mod_revision: revision, version: batches } }];
}

function entry(key: string, revision: number): object {
  return { key, value: `${revision}`, revision };
}

function log(): ChangeLog {
  return new ChangeLog(keyspace, { revision: 10, batches: 4 });
}

test("batches follow each other, and those without an entry are progress", () => {
  const changes = log();
  expect(changes.read({ events: [] })).toEqual({ kind: "nothing" });
  expect(changes.read({ events: [...batch(12, 5, "a", "b"), ...batch(15, 6, "a")] })).toEqual({
    kind: "changes",
    entries: [entry("a", 12), entry("b", 12), entry("a", 15)],
    revision: 15,
  });
  expect(changes.read({ events: batch(16, 7) })).toEqual({ kind: "changes", entries: [], revision: 16 });
});

test("a revision counts as seen only when the last message of its events has arrived", () => {
  const changes = log();
  const [a, b, head] = batch(12, 5, "a", "b") as [WatchEvent, WatchEvent, WatchEvent];
  expect(changes.read({ events: [a], fragment: true })).toEqual({ kind: "nothing" });
  expect(changes.read({ events: [b], fragment: true })).toEqual({ kind: "nothing" });
  expect(changes.read({ events: [head] })).toEqual({
    kind: "changes",
    entries: [entry("a", 12), entry("b", 12)],
    revision: 12,
  });
});

test("events that etcd repeats are skipped", () => {
  const changes = log();
  changes.read({ events: batch(12, 5, "a") });
  expect(changes.read({ events: [...batch(9, 3, "z"), ...batch(12, 5, "a")] })).toEqual({ kind: "nothing" });
  expect(changes.read({ events: [...batch(12, 5, "a"), ...batch(13, 6, "a")] })).toEqual({
    kind: "changes",
    entries: [entry("a", 13)],
    revision: 13,
  });
});

test("a batch that etcd leaves out is detected", () => {
  const changes = log();
  changes.read({ events: batch(12, 5, "a") });
  expect(changes.read({ events: batch(20, 7, "a") }).kind).toBe("broken");
});

test.each([
  ["compacted", { events: [], canceled: true, compact_revision: 11 }],
  ["cancelled", { events: [], canceled: true, cancel_reason: "no reason" }],
  [
    "interrupted by a deletion",
    { events: [{ type: DELETED, kv: { key: "t//a", mod_revision: 11, version: 0 } }] },
  ],
])("a change log that was %s is broken", (_, response) => {
  expect(log().read(response).kind).toBe("broken");
});

test("a change log is halted if it has not reached its member's revision of the last check", () => {
  const changes = log();
  expect(changes.isHalted(12)).toBe(false);
  changes.read({ events: batch(12, 5, "a") });
  expect(changes.isHalted(14)).toBe(false);
  expect(changes.isHalted(14)).toBe(true);
});
