import { describe, expect, test } from "vitest";
import { InvalidRequestError } from "../errors.js";
import { DEFAULT_POLICY, parsePolicy } from "../policy.js";
import * as requests from "./requests.js";

/** The error with which `parse` refuses `input`. Fails if it does not refuse it. */
function refusal(parse: (input: unknown) => unknown, input: unknown): InvalidRequestError {
  try {
    parse(input);
  } catch (error) {
    if (error instanceof InvalidRequestError) return error;
    throw error;
  }
  throw new Error(`it was not refused: ${JSON.stringify(input)}`);
}

/** As a request body arrives: with own keys only, whatever they are called. */
function withKey(base: object, key: string): unknown {
  return JSON.parse(`{${JSON.stringify(key)}: 1, ${JSON.stringify(base).slice(1)}`);
}

const campaign = { groupId: "g", nodeId: "a", ttlMs: 1_000 };
const renew = { groupId: "g", nodeId: "a", term: 3, ttlMs: 1_000 };
const resign = { groupId: "g", nodeId: "a", term: 3 };
const stepDown = { groupId: "g", by: "operator" };
const transfer = { groupId: "g", toNodeId: "b", by: "operator" };

const parseGroup = (input: unknown) => requests.parseGroup(input).change(null);

/** Each verb with a valid request. */
const VERBS: readonly (readonly [string, (input: unknown) => unknown, object])[] = [
  ["campaign", requests.parseCampaign, campaign],
  ["renew", (input) => requests.parseRenew(input), renew],
  ["resign", requests.parseResign, resign],
  ["step-down", requests.parseStepDown, stepDown],
  ["transfer", requests.parseTransfer, transfer],
  ["pause", requests.parsePause, { groupId: "g" }],
  ["resume", requests.parseResume, { groupId: "g" }],
  ["delete", requests.parseDelete, { groupId: "g", by: "operator" }],
  ["group", parseGroup, { groupId: "g" }],
];

const IDS = ["", ".", "..", "a b", "é", "x".repeat(201), 5, null, ["a"], {}, true];
const WHOLE = [-1, 0.5, Number.NaN, Infinity, "1000", true, [], {}, 1_000n, 2 ** 53];
const FRACTIONS = [undefined, null, 0.5, Number.NaN, Infinity, "1000", true, [], {}, 1_000n];
const INSTANCES = ["", "a b", "x".repeat(201), 5, null, [], {}];
const TTL = "ttlMs must be a whole number";
const ID = "must be 1 to 200 characters";

const WRONG: readonly (readonly [string, string, string, readonly unknown[]])[] = [
  ["campaign", "groupId", "", [undefined, ...IDS]],
  ["campaign", "nodeId", "", [undefined, ...IDS]],
  ["campaign", "instanceId", ID, INSTANCES],
  ["campaign", "ttlMs", TTL, FRACTIONS],
  [
    "campaign",
    "priority",
    "from -1000000 to 1000000",
    [0.5, Number.NaN, "1", true, {}, 1_000_001, -1_000_001],
  ],
  ["campaign", "waitMs", "from 0 to 60000", [...WHOLE, 60_001]],
  ["campaign", "metadata", "must be an object", [null, [], "x", 5]],
  ["campaign", "ready", "must be true or false", ["false", 1, 0, null, {}]],
  ["renew", "groupId", "", [undefined, ...IDS]],
  ["renew", "nodeId", "", [undefined, ...IDS]],
  ["renew", "instanceId", ID, INSTANCES],
  ["renew", "term", "from 1 to 9007199254740991", [undefined, null, 0, ...WHOLE]],
  ["renew", "ttlMs", TTL, FRACTIONS],
  ["resign", "groupId", "", [undefined, ...IDS]],
  ["resign", "nodeId", "", [undefined, ...IDS]],
  ["resign", "instanceId", ID, INSTANCES],
  ["resign", "term", "from 1 to 9007199254740991", [undefined, null, 0, ...WHOLE]],
  ["step-down", "groupId", "", [undefined, ...IDS]],
  ["step-down", "by", "", [undefined, ...IDS]],
  ["step-down", "banMs", "from 0 to 86400000", [...WHOLE, 86_400_001]],
  ["step-down", "force", "must be true or false", ["true", 1, 0, null, {}]],
  ["transfer", "groupId", "", [undefined, ...IDS]],
  ["transfer", "toNodeId", "", IDS],
  ["transfer", "allowCold", "must be true or false", ["true", 1, 0, null, {}]],
  ["transfer", "by", "", [undefined, ...IDS]],
  ["transfer", "timeoutMs", "from 1 to 60000", [0, ...WHOLE, 60_001]],
  ["pause", "groupId", "", [undefined, ...IDS]],
  ["pause", "forMs", "from 1 to 604800000", [0, null, ...WHOLE, 604_800_001]],
  ["resume", "groupId", "", [undefined, ...IDS]],
  ["delete", "groupId", "", [undefined, ...IDS]],
  ["delete", "by", "", [undefined, ...IDS]],
  ["delete", "force", "must be true or false", ["true", 1, 0, null, {}]],
  ["group", "groupId", "", [undefined, ...IDS]],
  ["group", "policy", "must be an object", [null, 5, "x", []]],
  ["group", "allowedNodes", "a list of at most 256 node ids", ["a", 5, {}, Array(257).fill("a")]],
];

describe("every verb", () => {
  test.each(VERBS)("%s accepts a valid request", (_, parse, right) => {
    expect(() => parse(right)).not.toThrow();
  });

  test.each(VERBS)("%s refuses a request that is not an object", (_, parse) => {
    for (const input of [undefined, null, 5, "x", true, [], [campaign], () => {}]) {
      expect(refusal(parse, input)).toMatchObject({
        field: "request",
        code: "INVALID_REQUEST",
        message: "request must be an object",
      });
    }
  });

  test.each(VERBS)("%s refuses unknown keys by name", (_, parse, right) => {
    for (const key of ["other", "node_id", "__proto__", "constructor", "toString", "", "GroupId"]) {
      const error = refusal(parse, withKey(right, key));
      expect(error.field).toBe(key);
      expect(error.message).toContain("known are groupId");
    }
  });

  test.each(WRONG)(
    "%s refuses a wrong %s, naming the field and its bound: %s",
    (verb, field, bound, values) => {
      const [, parse, right] = VERBS.find(([name]) => name === verb)!;
      for (const value of values) {
        const error = refusal(parse, { ...right, [field]: value });
        expect(error).toMatchObject({ field, code: "INVALID_REQUEST" });
        expect(error.message).toContain(bound);
      }
    },
  );
});

describe("campaign", () => {
  test("a campaign without optional fields has no instance, priority 0, no metadata and no wait, and is ready", () => {
    expect(requests.parseCampaign(campaign)).toEqual({
      groupId: "g",
      candidate: { nodeId: "a", instanceId: null, ttlMs: 1_000, priority: 0, metadata: null },
      ready: true,
      waitMs: 0,
    });
  });

  test("a campaign with every field at its bound is accepted unchanged", () => {
    const all = {
      groupId: "x".repeat(200),
      nodeId: "n",
      ttlMs: 86_400_000,
      instanceId: "i",
      priority: -1_000_000,
      metadata: { zone: "x" },
      ready: false,
      waitMs: 60_000,
    };
    const { groupId, waitMs, ready, ...candidate } = all;
    expect(requests.parseCampaign(all)).toEqual({ groupId, waitMs, ready, candidate });
    expect(requests.parseCampaign({ ...campaign, ttlMs: 1 }).candidate.ttlMs).toBe(1);
  });

  test("metadata that is too large in bytes, cyclic or replaced by toJSON is refused by the field name metadata", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const metadata of [{ a: "日".repeat(1_400) }, cyclic, { toJSON: () => "x" }, { big: 1n }]) {
      expect(refusal(requests.parseCampaign, { ...campaign, metadata })).toMatchObject({ field: "metadata" });
    }
    const large = refusal(requests.parseCampaign, { ...campaign, metadata: { a: "x".repeat(4_096) } });
    expect(large.message).toBe("metadata is 4104 bytes as JSON, at most 4096 are kept");
  });
});

describe("renewals of several groups", () => {
  const item = (groupId: string) => ({ ...renew, groupId });

  test("renewals of several groups are parsed in the order of the list", () => {
    const parsed = requests.parseRenewMany([item("g"), { ...item("h"), instanceId: "i" }]);
    expect(parsed).toEqual([
      { groupId: "g", claim: { nodeId: "a", term: 3, instanceId: null }, ttlMs: 1_000 },
      { groupId: "h", claim: { nodeId: "a", term: 3, instanceId: "i" }, ttlMs: 1_000 },
    ]);
    expect(requests.parseRenewMany([])).toEqual([]);
  });

  test("a list of a thousand renewals is accepted, and a longer one is refused", () => {
    const many = Array.from({ length: 1_001 }, (_, index) => item(`g${index}`));
    expect(requests.parseRenewMany(many.slice(1))).toHaveLength(1_000);
    const error = refusal(requests.parseRenewMany, many);
    expect(error).toMatchObject({ field: "renewals", message: "renewals must be a list of at most 1000" });
  });

  test.each([undefined, null, {}, "x", 5, { length: 1, 0: renew }])(
    "%o is refused as a list of renewals",
    (input) => {
      expect(refusal(requests.parseRenewMany, input)).toMatchObject({ field: "renewals" });
    },
  );

  test("a list that names a group twice is refused with the index of the second renewal", () => {
    const error = refusal(requests.parseRenewMany, [item("g"), item("h"), { ...item("g"), nodeId: "b" }]);
    expect(error).toMatchObject({ field: "renewals[2].groupId" });
    expect(error.message).toContain("twice");
  });

  test("a wrong renewal in a list is refused with its index", () => {
    const place = (wrong: unknown) => refusal(requests.parseRenewMany, [item("g"), wrong]).field;
    expect(place(null)).toBe("renewals[1]");
    expect(place({ ...item("h"), ttlMs: 0.5 })).toBe("renewals[1].ttlMs");
    expect(place({ ...item("h"), term: "3" })).toBe("renewals[1].term");
    expect(place({ ...item("h"), nodeId: "" })).toBe("renewals[1].nodeId");
    expect(place({ ...item("h"), groupId: ".." })).toBe("renewals[1].groupId");
    expect(place({ ...item("h"), instanceId: 5 })).toBe("renewals[1].instanceId");
    expect(place(withKey(item("h"), "__proto__"))).toBe("renewals[1].__proto__");
  });
});

describe("operator requests", () => {
  test("an operator request keeps its fields, and missing fields get their defaults", () => {
    expect(requests.parseStepDown(stepDown)).toEqual({
      groupId: "g",
      by: "operator",
      reason: null,
      stepDown: { banMs: 0, force: false },
    });
    expect(requests.parseStepDown({ ...stepDown, banMs: 86_400_000, force: true }).stepDown).toEqual({
      banMs: 86_400_000,
      force: true,
    });
    expect(requests.parseTransfer(transfer)).toEqual({
      groupId: "g",
      by: "operator",
      reason: null,
      transfer: { toNodeId: "b", timeoutMs: 10_000, allowCold: false },
    });
    const reason = "drill";
    expect(requests.parsePause({ groupId: "g" })).toEqual({
      groupId: "g",
      by: "operator",
      reason: null,
      pause: { forMs: null, create: false },
    });
    expect(requests.parsePause({ groupId: "g", by: "jane", forMs: 5, create: true, reason })).toEqual({
      groupId: "g",
      by: "jane",
      reason,
      pause: { forMs: 5, create: true },
    });
    expect(requests.parseResume({ groupId: "g", reason })).toEqual({ groupId: "g", by: "operator", reason });
    expect(requests.parseDelete({ groupId: "g", by: "o", force: true })).toEqual({
      groupId: "g",
      by: "o",
      reason: null,
      force: true,
    });
  });

  test.each([null, "", "x".repeat(501), 5, ["why"]])("%j is refused as a reason", (reason) => {
    expect(refusal(requests.parseResume, { groupId: "g", reason }).field).toBe("reason");
  });

  test("an update of a group is applied to its current configuration", () => {
    const present = { policy: { ...DEFAULT_POLICY, takeoverDelayMs: 70 }, allowedNodes: ["a"] };
    const { change } = requests.parseGroup({ groupId: "g", policy: { minTtlMs: 600 } });
    expect(change(present)).toEqual({ policy: { ...present.policy, minTtlMs: 600 }, allowedNodes: ["a"] });
    expect(change(null)).toEqual({ policy: { ...DEFAULT_POLICY, minTtlMs: 600 }, allowedNodes: null });
  });

  test("a list of allowed nodes replaces the current one without duplicates, and null allows every node", () => {
    const present = { policy: DEFAULT_POLICY, allowedNodes: ["a"] };
    const changed = (allowedNodes: unknown) =>
      requests.parseGroup({ groupId: "g", allowedNodes }).change(present);
    expect(changed(["b", "c", "b"]).allowedNodes).toEqual(["b", "c"]);
    expect(changed([]).allowedNodes).toEqual([]);
    expect(changed(null).allowedNodes).toBeNull();
    expect(changed(undefined).allowedNodes).toEqual(["a"]);
  });

  test("a wrong allowed node is refused with its index, a wrong policy with its field", () => {
    expect(refusal(parseGroup, { groupId: "g", allowedNodes: ["a", "b c"] }).field).toBe("allowedNodes[1]");
    expect(refusal(parseGroup, { groupId: "g", policy: { minTtlMs: 5 } }).field).toBe("policy.minTtlMs");
    expect(refusal(parseGroup, { groupId: "g", policy: { other: 5 } }).field).toBe("policy.other");
  });
});

describe("a query for groups", () => {
  test("a query without fields asks for the first hundred of all groups", () => {
    const all = { prefix: "", limit: 100, cursor: null };
    expect(requests.parseGroupsQuery(undefined)).toEqual(all);
    expect(requests.parseGroupsQuery({})).toEqual(all);
    expect(requests.parseGroupsQuery({ prefix: "" })).toEqual(all);
    const some = { prefix: "team/", limit: 1_000, cursor: "team/x" };
    expect(requests.parseGroupsQuery(some)).toEqual(some);
  });

  test.each([
    ["prefix", ["a b", 5, null, []]],
    ["limit", [0, 1_001, ...WHOLE]],
    ["cursor", ["", "a b", 5, null]],
  ])("a query for groups with a wrong %s is refused", (field, values) => {
    for (const value of values) {
      expect(refusal(requests.parseGroupsQuery, { [field]: value })).toMatchObject({ field });
    }
  });

  test("a query for groups that has unknown keys or is not an object is refused", () => {
    expect(refusal(requests.parseGroupsQuery, { other: 1 })).toMatchObject({ field: "other" });
    expect(refusal(requests.parseGroupsQuery, "x")).toMatchObject({ field: "request" });
  });
});

describe("null in place of a number", () => {
  const campaign = { groupId: "g", nodeId: "a", ttlMs: 1000 };
  test.each<[string, () => unknown]>([
    ["priority", () => requests.parseCampaign({ ...campaign, priority: null })],
    ["waitMs", () => requests.parseCampaign({ ...campaign, waitMs: null })],
    ["banMs", () => requests.parseStepDown({ groupId: "g", by: "o", banMs: null })],
    ["timeoutMs", () => requests.parseTransfer({ groupId: "g", by: "o", toNodeId: "b", timeoutMs: null })],
    ["limit", () => requests.parseGroupsQuery({ limit: null })],
    ["policy.minTtlMs", () => parsePolicy({ minTtlMs: null }, DEFAULT_POLICY)],
    ["policy.retry.jitter", () => parsePolicy({ retry: { jitter: null } }, DEFAULT_POLICY)],
  ])("null is refused as %s", (field, parse) => {
    expect(parse).toThrow(expect.objectContaining({ code: "INVALID_REQUEST", field }));
  });
});

test("a list with holes is refused", () => {
  const holes: unknown[] = [];
  holes.length = 2;
  expect(() => requests.parseGroup({ groupId: "g", allowedNodes: holes })).toThrow(/allowedNodes\[0\]/);
  expect(() => requests.parseRenewMany(holes)).toThrow(/renewals\[0\]/);
});
