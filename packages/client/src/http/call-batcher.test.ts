import { BackendUnavailableError, type RenewManyResult, type RenewResult } from "@tenure/core";
import { LIMITS, type ParsedRenew } from "@tenure/core/internal";
import { VirtualClock } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { CallBatcher } from "./call-batcher.js";

interface Sent {
  readonly groups: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly answer: (results: readonly RenewManyResult[]) => void;
  readonly fail: (error: Error) => void;
}

function world() {
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const batcher = new CallBatcher<ParsedRenew, RenewResult>({
    clock,
    windowMs: 2,
    send: (renewals, timeoutMs, signal) =>
      new Promise((answer, fail) => {
        sent.push({ groups: renewals.map(({ groupId }) => groupId), timeoutMs, signal, answer, fail });
      }),
  });
  return { clock, sent, batcher };
}

const renewal = (groupId: string): ParsedRenew => ({
  groupId,
  claim: { nodeId: "a", term: 1, instanceId: null },
  ttlMs: 3000,
});
const renewed = (nodeId: string): RenewResult => ({
  kind: "renewed",
  leader: { nodeId, term: 1, expiresAtMs: 0 },
});

test("renewals within the window are sent together, with the shortest of their timeouts", async () => {
  const { clock, sent, batcher } = world();
  const one = batcher.call(renewal("g1"), 1000);
  await clock.advance(1);
  const two = batcher.call(renewal("g2"), 900);
  // A timeout of another order of magnitude gets a request of its own.
  void batcher.call(renewal("g3"), 100).catch(() => {});
  await clock.advance(2);
  expect(sent.map(({ groups, timeoutMs }) => [groups, timeoutMs])).toEqual([
    [["g1", "g2"], 898],
    [["g3"], 98],
  ]);
  const error = new BackendUnavailableError("this one only");
  sent[0]?.answer([renewed("a"), { kind: "failed", error }]);
  expect(await one).toEqual(renewed("a"));
  await expect(two).rejects.toBe(error);
});

test("each renewal of a failed request rejects with the error of the request", async () => {
  const { clock, sent, batcher } = world();
  const settled = Promise.allSettled(["g1", "g2"].map((group) => batcher.call(renewal(group), 1000)));
  await clock.advance(2);
  const error = new Error("gone");
  sent[0]?.fail(error);
  for (const result of await settled) expect(result).toMatchObject({ status: "rejected", reason: error });
});

test("a request names each group once, and holds at most LIMITS.renewMany renewals", async () => {
  const { clock, sent, batcher } = world();
  const ids = Array.from({ length: LIMITS.renewMany + 1 }, (_, index) => `g${index}`);
  for (const id of [...ids, "g1000"]) void batcher.call(renewal(id), 1000);
  await clock.advance(2);
  expect(sent.map(({ groups }) => groups.length)).toEqual([LIMITS.renewMany, 1, 1]);
  expect(sent.map(({ groups }) => groups.at(-1))).toEqual(["g999", "g1000", "g1000"]);
});

test("no request exceeds the body limit of the service", async () => {
  const clock = new VirtualClock();
  const sent: number[] = [];
  const batcher = new CallBatcher<ParsedRenew, RenewResult>({
    clock,
    windowMs: 2,
    bytesOf: ({ groupId }) => (groupId === "large" ? 999_000 : 600),
    send: (calls) => {
      sent.push(calls.length);
      return Promise.resolve(calls.map(() => renewed("a")));
    },
  });
  const answered = Promise.all(
    ["g1", "large", "g2", "g3"].map((group) => batcher.call(renewal(group), 1000)),
  );
  await clock.advance(2);
  await answered;
  expect(sent).toEqual([2, 2]);
});

test("a renewal aborted before it was sent is not sent, and a request whose renewals are all aborted is aborted", async () => {
  const { clock, sent, batcher } = world();
  const [first, second] = [new AbortController(), new AbortController()];
  const settled = Promise.allSettled([
    batcher.call(renewal("g1"), 1000, first.signal),
    batcher.call(renewal("g2"), 1000, second.signal),
  ]);
  first.abort(new Error("first"));
  await clock.advance(2);
  expect(sent.map(({ groups }) => groups)).toEqual([["g2"]]);
  expect(sent[0]?.signal.aborted).toBe(false);
  second.abort(new Error("second"));
  expect(sent[0]?.signal.aborted).toBe(true);
  expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const alone = new AbortController();
  const given = batcher.call(renewal("g3"), 1000, alone.signal);
  alone.abort(new Error("third"));
  await expect(given).rejects.toThrow("third");
  await clock.advance(2);
  expect(sent).toHaveLength(1);
});

test("flush sends at once", async () => {
  const { clock, sent, batcher } = world();
  void batcher.call(renewal("g1"), 1000);
  batcher.flush();
  expect(sent).toHaveLength(1);
  await clock.advance(10);
  expect(sent).toHaveLength(1);
});

test("a caller that aborts before the request is sent does not affect a later call for the same group", async () => {
  const { clock, sent, batcher } = world();
  const leaving = new AbortController();
  const reason = new Error("not wanted any more");
  const left = batcher.call(renewal("g1"), 1000, leaving.signal);
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  const next = batcher.call(renewal("g1"), 1000);
  await clock.advance(2);
  expect(sent.map(({ groups, signal }) => [groups, signal.aborted])).toEqual([[["g1"], false]]);
  sent[0]?.answer([renewed("a")]);
  expect(await next).toEqual(renewed("a"));
});
