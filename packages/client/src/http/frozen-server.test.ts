/** How an elector over HTTP handles a server that is connected and no longer answers. */
import { BackendUnavailableError, sleep } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { expect, test } from "vitest";
import { FROZEN, ok, ScriptedCarrier, type ScriptedServer } from "./scripted-carrier.test-kit.js";

const TTL_MS = 2000;
const LEADER = { node_id: "a", term: 1, lease_expires_at_ms: 0 };
const LOST = { is_leader: false, leader: LEADER, retry_after_ms: 100 };

const request = { groupId: "g", nodeId: "b", instanceId: "b-1", ttlMs: TTL_MS, waitMs: 30_000 };
const nobody: ScriptedServer = { answer: () => ok({ leader: null, term: 7 }) };

/** Waits as long as requested, and then answers with `outcome`. */
function waiting(carrier: () => ScriptedCarrier, outcome: () => unknown): ScriptedServer {
  return {
    answer: async ({ body }) => {
      await sleep(carrier().clock, Number(body["wait_ms"] ?? 0));
      return ok(outcome());
    },
  };
}

function elected(waitedMs: number): unknown {
  return { is_leader: true, leader: { node_id: "b", term: 2, lease_expires_at_ms: 0 }, waited_ms: waitedMs };
}

test("a waiting campaign leaves a server that has stopped answering for another within a ttl", async () => {
  const carrier = new ScriptedCarrier({ one: FROZEN, other: { answer: () => ok(elected(0)) } });
  const elector = await carrier.elector();
  const campaign = elector.campaign(request);
  await carrier.clock.advance(TTL_MS);
  expect(carrier.asked.map(({ server }) => server)).toEqual(["one", "other"]);
  const result = await carrier.settled(campaign, 0);
  const otherAskedMs = Math.floor(carrier.asked[1]?.atMs ?? 0);
  expect(result).toMatchObject({ kind: "elected", waitedMs: otherAskedMs });
});

test("a long wait consists of short requests, each limited to the time left, and ends on time", async () => {
  const carrier: ScriptedCarrier = new ScriptedCarrier({
    one: waiting(
      () => carrier,
      () => LOST,
    ),
  });
  const elector = await carrier.elector();
  const campaign = elector.campaign({ ...request, waitMs: 3500 });
  expect(await carrier.settled(campaign, 3500)).toMatchObject({ kind: "lost", leader: { nodeId: "a" } });
  expect(carrier.asked.map(({ body, atMs }) => [atMs, body["wait_ms"]])).toEqual([
    [0, 1000],
    [1000, 1000],
    [2000, 1000],
    [3000, 500],
  ]);
});

test("a campaign elected in its third short wait reports the total time of all three", async () => {
  let asked = 0;
  const carrier: ScriptedCarrier = new ScriptedCarrier({
    one: {
      answer: async ({ body }) => {
        const isThird = ++asked === 3;
        await sleep(carrier.clock, isThird ? 250 : Number(body["wait_ms"]));
        return ok(isThird ? elected(250) : LOST);
      },
    },
  });
  const elector = await carrier.elector();
  const campaign = elector.campaign(request);
  expect(await carrier.settled(campaign, 2250)).toMatchObject({ kind: "elected", waitedMs: 2250 });
});

test("a campaign that loses before its short wait is over is answered at once", async () => {
  const carrier = new ScriptedCarrier({ one: { answer: () => ok(LOST) } });
  const elector = await carrier.elector();
  const campaign = elector.campaign(request);
  expect(await carrier.settled(campaign, 0)).toMatchObject({ kind: "lost", retryAfterMs: 100 });
  expect(carrier.asked).toHaveLength(1);
});

test("a server that did not answer within the caller's time limit is tried last by the next call", async () => {
  const carrier = new ScriptedCarrier({ one: FROZEN, other: nobody });
  const elector = await carrier.elector();
  const never = new AbortController().signal;
  const ask = () =>
    within(carrier.clock, { limitMs: 300, signal: never }, (signal) => elector.leader("g", { signal })).catch(
      (error: unknown) => error,
    );
  expect(await carrier.settled(ask(), 300)).toBeInstanceOf(BackendUnavailableError);
  expect(await carrier.settled(ask(), 0)).toMatchObject({ term: 7 });
  expect(carrier.asked.map(({ server }) => server)).toEqual(["one", "other"]);
});

test("a server whose call was aborted for another reason than time is tried first again", async () => {
  const carrier = new ScriptedCarrier({ one: { ...FROZEN }, other: nobody });
  const elector = await carrier.elector();
  const stopping = new AbortController();
  const call = elector.leader("g", { signal: stopping.signal }).catch((error: unknown) => error);
  await carrier.clock.advance(300);
  stopping.abort(new Error("the process stops"));
  expect(await carrier.settled(call, 0)).toBe(stopping.signal.reason);
  carrier.servers["one"] = nobody;
  await carrier.settled(elector.leader("g"), 0);
  expect(carrier.asked.map(({ server }) => server)).toEqual(["one", "one"]);
});

test("a signal that aborts with TimeoutError counts as the caller's time limit", async () => {
  const carrier = new ScriptedCarrier({ one: FROZEN, other: nobody });
  const elector = await carrier.elector();
  const limit = new AbortController();
  const call = elector.leader("g", { signal: limit.signal }).catch((error: unknown) => error);
  await carrier.clock.advance(300);
  limit.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  await carrier.settled(call, 0);
  expect(await carrier.settled(elector.leader("g"), 0)).toMatchObject({ term: 7 });
  expect(carrier.asked.map(({ server }) => server)).toEqual(["one", "other"]);
});

const EVENT = {
  type: "LEADER_LOST",
  group_id: "g",
  term: 1,
  leader_node_id: null,
  previous_leader_node_id: "a",
  reason: "expired",
  ts_ms: 0,
};

function event(number: number): string {
  return `data: ${JSON.stringify({ ...EVENT, number })}\n\n`;
}

/** A stream that sends its state and then a comment every `keep_alive_ms`, 15 s if the request has none. */
function alive(carrier: () => ScriptedCarrier): ScriptedServer {
  return {
    stream: ({ body }, say) => {
      say(event(1));
      const everyMs = Number(body["keep_alive_ms"] ?? 15_000);
      const goOn = () => {
        say(":\n\n");
        carrier().clock.after(everyMs, goOn);
      };
      carrier().clock.after(everyMs, goOn);
    },
  };
}

test("a watch leaves a server that is silent for longer than silenceMs", async () => {
  const carrier = new ScriptedCarrier({
    one: { stream: (_, say) => say(event(1)) },
    other: { stream: (_, say) => say(event(2)) },
  });
  const elector = await carrier.elector();
  const watch = elector.watch("g", { silenceMs: 2500 })[Symbol.asyncIterator]();
  expect((await carrier.settled(watch.next(), 10)).value).toMatchObject({ cursor: 1 });
  expect((await carrier.settled(watch.next(), 2500)).value).toMatchObject({ cursor: 2 });
  expect(carrier.asked.map(({ server, body }) => [server, body["keep_alive_ms"]])).toEqual([
    ["one", 1000],
    ["other", 1000],
  ]);
});

test("a watch stays with a server that sends something within silenceMs", async () => {
  const carrier: ScriptedCarrier = new ScriptedCarrier({ one: alive(() => carrier), other: nobody });
  const elector = await carrier.elector();
  const watch = elector.watch("g", { silenceMs: 2500 })[Symbol.asyncIterator]();
  const first = watch.next();
  void first.then(() => watch.next());
  await carrier.clock.advance(60_000);
  expect(carrier.asked).toHaveLength(1);
});

test("a watch that a server does not open within silenceMs is opened at another", async () => {
  const carrier = new ScriptedCarrier({ one: FROZEN, other: { stream: (_, say) => say(event(1)) } });
  const elector = await carrier.elector({ requestTimeoutMs: 60_000 });
  const first = elector.watch("g", { silenceMs: 2500 })[Symbol.asyncIterator]().next();
  expect((await carrier.settled(first, 2510)).value).toMatchObject({ cursor: 1 });
});

test("a connection shared by several watches uses the smallest silenceMs of them", async () => {
  const carrier = new ScriptedCarrier({ one: { stream: (_, say) => say(event(1)) } });
  const elector = await carrier.elector();
  for (const [groupId, silenceMs] of Object.entries({ g: 9000, h: 4000, i: undefined })) {
    void elector.watch(groupId, { silenceMs })[Symbol.asyncIterator]().next();
  }
  await carrier.clock.advance(10);
  expect(carrier.asked.map(({ body }) => body["keep_alive_ms"])).toEqual([1600]);
  // A watch with a smaller silenceMs of a group that is already watched.
  void elector.watch("g", { silenceMs: 2500, cursor: 1 })[Symbol.asyncIterator]().next();
  await carrier.clock.advance(10);
  expect(carrier.asked.map(({ body }) => body["keep_alive_ms"])).toEqual([1600, 1000]);
  // The same silenceMs, but a smaller quietMs.
  void elector.watch("g", { silenceMs: 2500, quietMs: 875, cursor: 1 })[Symbol.asyncIterator]().next();
  await carrier.clock.advance(10);
  expect(carrier.asked.map(({ body }) => body["keep_alive_ms"])).toEqual([1600, 1000, 500]);
});

test("a watch reports when no server can be reached, and when one can again", async () => {
  const carrier: ScriptedCarrier = new ScriptedCarrier({ one: alive(() => carrier), other: {} });
  const elector = await carrier.elector();
  const contacts: (string | null)[] = [];
  const onContact = (error: unknown) => contacts.push(error === null ? null : (error as Error).message);
  const watch = elector.watch("g", { silenceMs: 2500, onContact })[Symbol.asyncIterator]();
  const first = watch.next();
  void first.then(() => watch.next());
  await carrier.clock.advance(10);
  expect(contacts).toEqual([null]);
  // It sends nothing more, and the other server is gone.
  const { clock } = carrier;
  carrier.servers["one"] = {};
  carrier.silence("one");
  await clock.advance(2510);
  expect(contacts).toEqual([null, expect.stringContaining("ECONNREFUSED")]);
  carrier.servers["other"] = alive(() => carrier);
  await clock.advance(10_000);
  expect(contacts.at(-1)).toBeNull();
});

test("a watch reports silence after quietMs, stays open, and reports when the server sends again", async () => {
  const carrier: ScriptedCarrier = new ScriptedCarrier({
    one: alive(() => carrier),
    other: alive(() => carrier),
  });
  const elector = await carrier.elector();
  const { clock } = carrier;
  const contacts: (readonly [number, string | null])[] = [];
  const onContact = (error: unknown) =>
    contacts.push([clock.monotonicMs(), error === null ? null : (error as Error).message]);
  const watch = elector.watch("g", { silenceMs: 2500, quietMs: 1750, onContact })[Symbol.asyncIterator]();
  void watch.next().then(() => watch.next());
  await clock.advance(10_100);
  expect(carrier.asked.map(({ body }) => body["keep_alive_ms"])).toEqual([1000]);
  expect(contacts).toEqual([[expect.any(Number), null]]);
  carrier.silence("one");
  await clock.advance(1800);
  expect(contacts.slice(1)).toEqual([
    [expect.any(Number), expect.stringContaining("nothing was heard for 1750 ms")],
  ]);
  expect(contacts[1]?.[0]).toBeLessThanOrEqual(10_100 + 1750);
  carrier.silence("one", false);
  await clock.advance(1000);
  expect(contacts.slice(2)).toEqual([[expect.any(Number), null]]);
  expect(carrier.asked).toHaveLength(1);
});

test.each([
  [{ quietMs: 874 }, "quietMs"],
  [{ silenceMs: 2499 }, "silenceMs"],
])("a watch with %o is refused, and the error names the field", async (options, field) => {
  const elector = await new ScriptedCarrier({ one: FROZEN }).elector();
  expect(() => elector.watch("g", options)).toThrow(field);
});
