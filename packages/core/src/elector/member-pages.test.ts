/** Member pages in the store and in memory: bounded, limited to their group, written in slices. */
import { describe, expect, test } from "vitest";
import { decodeMembers, encodeMembers } from "../members.js";
import { Batcher } from "./batcher.js";
import { MemberBook } from "./member-book.js";
import { A, inWorld, type World } from "./world.test-kit.js";

async function put(w: World, key: string, value: string): Promise<void> {
  const expected = (await w.entry(key))?.revision ?? null;
  const [outcome] = await w.truth.compareAndSet([{ key, expected, value }]);
  expect(outcome?.kind).toBe("swapped");
}

const UNREADABLE = [
  "",
  "{",
  "null",
  "[]",
  "{}",
  '{"v":1}',
  '{"v":1,"m":[["x"],7,null]}',
  '{"v":2,"m":{"x":1}}',
];

test(
  "unreadable member pages delay no answer",
  inWorld(async (w) => {
    for (const [index, value] of UNREADABLE.entries()) await put(w, `m/broken${index}`, value);
    const { elector } = w.server({ keepMembers: true });
    expect((await w.until(elector.campaign(A))).tookMs).toBeLessThanOrEqual(1);
    for (const [index, value] of UNREADABLE.entries()) await put(w, `m/later${index}`, value);
    expect((await w.until(elector.leader("g"))).tookMs).toBeLessThanOrEqual(1);
    expect((await w.until(elector.members("broken1"))).value).toEqual([]);
  }),
);

test(
  "a damaged member page is replaced with the next activity of a member of its group",
  inWorld(async (w) => {
    await put(w, "m/g", "{");
    const { elector: one } = w.server({ keepMembers: true });
    const { elector: two } = w.server({ keepMembers: true });
    await w.until(one.campaign({ ...A, ttlMs: 60_000 }));
    await w.clock.advance(1000);
    expect((await w.until(two.members("g"))).value.map(({ nodeId }) => nodeId)).toEqual(["a"]);
  }),
);

test(
  "a member page of a newer format is left unchanged, and this server lists the members it sees itself",
  inWorld(async (w) => {
    const newer = '{"v":2,"m":{"later":1}}';
    const { elector, store } = w.server({ keepMembers: true });
    await w.until(elector.campaign({ ...A, ttlMs: 60_000 }));
    await w.clock.advance(1000);
    await put(w, "m/g", newer);
    for (let round = 0; round < 10; round++) {
      await w.until(elector.renew({ ...A, term: 1, ttlMs: 60_000 }));
      await w.clock.advance(6000);
    }
    expect((await w.entry("m/g"))?.value).toBe(newer);
    // This write was made before the newer page was there.
    expect(store.sentTo("m/")).toBe(1);
    expect((await w.until(elector.members("g"))).value.map(({ nodeId }) => nodeId)).toEqual(["a"]);
    // The newer server is gone, and its page was replaced with one that every version can read.
    await put(w, "m/g", encodeMembers([]));
    await w.until(elector.renew({ ...A, term: 1, ttlMs: 60_000 }));
    await w.clock.advance(20_000);
    expect((await w.entry("m/g"))?.value).toContain('"a"');
  }),
);

test(
  "at most 256 members of a group are kept, and the longest silent are dropped first",
  inWorld(async (w) => {
    const { elector } = w.server({ keepMembers: true });
    await w.until(elector.campaign({ ...A, ttlMs: 60_000 }));
    for (let i = 0; i < 1000; i++) {
      if (i % 100 === 0) await w.clock.advance(1);
      await elector.heartbeat({ groupId: "g", nodeId: `n${i}` });
    }
    const { value: members } = await w.until(elector.health("g"));
    const wanted = Array.from({ length: 256 }, (_, i) => `n${744 + i}`).sort();
    expect(members.map(({ nodeId }) => nodeId)).toEqual(wanted);
  }),
);

test(
  "member pages of three thousand groups are written in slices over a period, not in one turn",
  inWorld(async (w) => {
    const { elector, store } = w.server({ keepMembers: true });
    const ids = Array.from({ length: 3000 }, (_, i) => `g${i}`);
    await w.until(Promise.all(ids.map((groupId) => elector.campaign({ ...A, groupId, ttlMs: 60_000 }))));
    let before = 0;
    let most = 0;
    for (let ms = 0; ms < 12_000; ms += 100) {
      const now = store.sentTo("m/");
      most = Math.max(most, now - before);
      before = now;
      await w.clock.advance(100);
    }
    expect(before).toBe(3000);
    expect(most).toBeLessThanOrEqual(60);
  }),
);

const sign = (nodeId: string) => ({ nodeId, isCandidate: true, metadata: null, ready: true });

test(
  "a member page is emptied in the store and dropped from memory when its last member is forgotten",
  inWorld(async (w) => {
    const book = new MemberBook(new Batcher(w.truth, w.clock), w.clock);
    for (let i = 0; i < 100; i++) book.sign(`g${i}`, sign("a"));
    const leave = book.startWaiting("waits", sign("b"));
    await w.clock.advance(599_999);
    expect(book.size).toBe(101);
    await w.clock.advance(2000);
    expect(book.size).toBe(1);
    expect((await w.entry("m/g0"))?.value).toBe(encodeMembers([]));
    expect(book.members("waits").map(({ nodeId }) => nodeId)).toEqual(["b"]);
    leave();
    await w.clock.advance(602_000);
    expect(book.size).toBe(0);
    book.sign("g0", sign("c"));
    await w.clock.advance(1000);
    expect((await w.entry("m/g0"))?.value).toContain('"c"');
    book.close();
  }),
);

test("a member page takes at most 64 KiB: metadata goes before members, the longest silent first", () => {
  const metadata = { note: "é".repeat(2000) };
  const all = Array.from({ length: 256 }, (_, i) => ({
    nodeId: `${"n".repeat(190)}-${i}`,
    isCandidate: true,
    lastSignMs: 1_700_000_000_000 - i,
    metadata,
    ready: i % 2 === 0,
  }));
  const value = encodeMembers(all);
  expect(Buffer.byteLength(value)).toBeLessThanOrEqual(65_536);
  const read = decodeMembers(value);
  if (read.kind !== "members") throw new Error("it cannot be read");
  expect(read.members.map(({ nodeId }) => nodeId)).toEqual(all.map(({ nodeId }) => nodeId));
  const withMetadata = read.members.findIndex((member) => member.metadata === null);
  expect(withMetadata).toBeGreaterThanOrEqual(1);
  expect(read.members.slice(withMetadata).every((member) => member.metadata === null)).toBe(true);
  expect(read.members.map(({ ready }) => ready)).toEqual(all.map(({ ready }) => ready));
  const many = encodeMembers([...all, ...all, ...all]);
  expect(Buffer.byteLength(many)).toBeLessThanOrEqual(65_536);
  expect(many).toContain(all[0]?.nodeId);
});

describe("the member page of a group with a cold member", () => {
  const cold = { nodeId: "a", isCandidate: true, lastSignMs: 5, metadata: null, ready: false };

  test("a member page with a cold member is readable by the version before warm standby, which reads four columns of a row", () => {
    const { v, m } = JSON.parse(encodeMembers([cold, { ...cold, metadata: { zone: "x" } }])) as {
      v: number;
      m: readonly (readonly unknown[])[];
    };
    expect(v).toBe(1);
    expect(m.map((row) => row.slice(0, 4))).toEqual([
      ["a", 5, 1, null],
      ["a", 5, 1, { zone: "x" }],
    ]);
  });

  test("a member page with a cold member differs from the former format by the cold members only", () => {
    const ready = { ...cold, ready: true };
    expect(encodeMembers([ready, { ...ready, metadata: { zone: "x" } }])).toBe(
      '{"v":1,"m":[["a",5,1],["a",5,1,{"zone":"x"}]]}',
    );
  });

  test("a member page written by the version before warm standby shows every member as ready", () => {
    const read = decodeMembers('{"v":1,"m":[["a",5,1],["b",5,1,{"zone":"x"}]]}');
    expect(read).toMatchObject({ members: [{ ready: true }, { ready: true, metadata: { zone: "x" } }] });
  });
});

test(
  "member pages never share a batch with records",
  inWorld(async (w) => {
    const { elector, store } = w.server({ keepMembers: true });
    const batches: string[][] = [];
    const send = store.compareAndSet.bind(store);
    store.compareAndSet = (batch, options) => {
      batches.push([...new Set(batch.map(({ key }) => key.slice(0, 2)))]);
      return send(batch, options);
    };
    for (let round = 0; round < 30; round++) {
      const ids = Array.from({ length: 10 }, (_, i) => `g${i}`);
      await w.until(Promise.all(ids.map((groupId) => elector.campaign({ ...A, groupId, ttlMs: 60_000 }))));
      await w.clock.advance(997);
    }
    expect(batches.some((kinds) => kinds.includes("m/"))).toBe(true);
    expect(batches.filter((kinds) => kinds.includes("m/") && kinds.length > 1)).toEqual([]);
  }),
);
