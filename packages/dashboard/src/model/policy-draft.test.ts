import { expect, test } from "vitest";
import { changesOf, draftOf } from "./policy-draft.js";
import { duration, grouped, parseDuration } from "./format.js";
import { groupOf } from "./wire.test-kit.js";

const { policy } = groupOf("g", 1, null);

test("an unedited policy changes nothing, whatever its numbers", () => {
  for (const ms of [500, 1234, 5000, 61_500, 60_000, 3_600_000, 3_661_000]) {
    const odd = { ...policy, max_ttl_ms: ms, retry: { ...policy.retry, max_ms: ms } };
    expect(changesOf(odd, draftOf(odd))).toEqual({ kind: "right", lines: [], patch: {} });
  }
});

test("only changed fields of a policy are sent", () => {
  const draft = { ...draftOf(policy), maxTtl: "30s", retryJitter: "0.5", strategy: "priority" };
  expect(changesOf(policy, draft)).toMatchObject({
    kind: "right",
    patch: { max_ttl_ms: 30_000, strategy: "priority", retry: { jitter: 0.5 } },
  });
});

test.each([
  ["minTtl", "soon", "Shortest lease"],
  ["takeoverDelay", "", "Takeover delay"],
  ["retryJitter", "2", "Retry jitter"],
])("%s of %j is refused as a policy field", (field, text, name) => {
  expect(changesOf(policy, { ...draftOf(policy), [field]: text })).toEqual({ kind: "wrong", field: name });
});

test("durations are formatted for people and parsed back", () => {
  expect([0, 12, 1500, 61_000, 3_600_000, 90_000_000].map(duration)).toEqual([
    "0 ms",
    "12 ms",
    "1.5 s",
    "1 min 1 s",
    "1 h",
    "1 d 1 h",
  ]);
  expect(["250", "250ms", "1.5s", "2m", "2 min", "1h", "x", "-1s", ""].map(parseDuration)).toEqual([
    250,
    250,
    1500,
    120_000,
    120_000,
    3_600_000,
    null,
    null,
    null,
  ]);
  expect([0, 999, 1000, 1234567].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567"]);
});
