import { expect, test } from "vitest";
import { changesOf, draftOf } from "./policy-draft.js";
import { duration, grouped, parseDuration, written } from "./format.js";
import { groupOf } from "./wire.test-kit.js";

const group = groupOf("g", 1, null);

test("an unedited policy changes nothing, whatever its numbers", () => {
  for (const ms of [500, 1234, 5000, 61_500, 60_000, 3_600_000, 3_661_000]) {
    const policy = { ...group.policy, max_ttl_ms: ms, retry: { ...group.policy.retry, max_ms: ms } };
    const odd = { policy, allowed_nodes: ["a", "b"] };
    expect(changesOf(odd, draftOf(odd))).toEqual({ kind: "right", lines: [], patch: {}, options: [] });
  }
});

test("only changed fields of a policy are sent, and are the options of the command", () => {
  const draft = { ...draftOf(group), maxTtl: "30s", retryJitter: "0.5", strategy: "priority" };
  expect(changesOf(group, draft)).toMatchObject({
    kind: "right",
    patch: { policy: { max_ttl_ms: 30_000, strategy: "priority", retry: { jitter: 0.5 } } },
    options: ["--max-ttl", "30s", "--strategy", "priority", "--retry-jitter", "0.5"],
  });
});

test.each([
  ["a, b\nb", true, null, { allowed_nodes: ["a", "b"] }, ["--allow", "a,b"]],
  ["", true, null, { allowed_nodes: [] }, ["--allow", ""]],
  ["", false, ["a"], { allowed_nodes: null }, ["--allow-any"]],
  ["a", true, ["a"], {}, []],
])(
  "the nodes %j, restricted: %s, change a list of %j by %j",
  (nodes, isRestricted, before, patch, options) => {
    const settings = { ...group, allowed_nodes: before };
    expect(changesOf(settings, { ...draftOf(settings), nodes, isRestricted })).toMatchObject({
      patch,
      options,
    });
  },
);

test.each([
  ["minTtl", "soon", "Shortest lease"],
  ["takeoverDelay", "", "Takeover delay"],
  ["retryJitter", "2", "Retry jitter"],
])("%s of %j is refused as a policy field", (field, text, name) => {
  expect(changesOf(group, { ...draftOf(group), [field]: text })).toEqual({ kind: "wrong", field: name });
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

test("a duration field holds the form of the command line", () => {
  expect([0, 250, 1500, 60_000, 90_000, 3_600_000].map(written)).toEqual([
    "0s",
    "250ms",
    "1500ms",
    "1m",
    "90s",
    "1h",
  ]);
});
