import { expect, test } from "vitest";
import { makeNodeId } from "./node-id.js";
import { parseElection } from "./options.js";

const MINIMAL = { groupId: "g", nodeId: "a", ttlMs: 1000 };

test("options that are left out have their defaults", () => {
  expect(parseElection(MINIMAL)).toMatchObject({
    heartbeatIntervalMs: 200,
    connectionTimeoutMs: 150,
    healthTimeoutMs: 150,
    stopMarginMs: 100,
    disconnectGracePeriodMs: null,
    maxConsecutiveFailures: null,
    maxHealthFailures: 1,
    campaignWaitMs: 30_000,
    takeoverDelayMs: 0,
    deleteOnStop: true,
    priorityTakeover: false,
    priority: 0,
    driftRatio: 0.01,
    fencing: { validationIntervalMs: 0, validateOnCriticalOps: false, cacheToken: false },
    retry: { maxAttempts: 0, initialBackoffMs: 100, maxBackoffMs: 5000, multiplier: 2, jitter: 1 },
  });
  expect(Object.isFrozen(parseElection(MINIMAL))).toBe(true);
  for (const ttlMs of [100, 101, 333, 1000, 86_400_000]) parseElection({ ...MINIMAL, ttlMs });
});

test.each<[object, string, string]>([
  [{ groupId: "" }, "groupId", "must be 1 to 200 characters"],
  [{ nodeId: "a b" }, "nodeId", "must be 1 to 200 characters"],
  [{ ttlMs: 99 }, "ttlMs", "must be a whole number from 100 to 86400000"],
  [{ ttlMs: 1000.5 }, "ttlMs", "whole"],
  [
    { heartbeatIntervalMs: 334 },
    "heartbeatIntervalMs",
    "is 334 and must be at most a third of ttlMs, which is 1000",
  ],
  [
    { connectionTimeoutMs: 200 },
    "connectionTimeoutMs",
    "is 200 and must be less than heartbeatIntervalMs, which is 200",
  ],
  [
    { healthTimeoutMs: 250 },
    "healthTimeoutMs",
    "is 250 and must be less than heartbeatIntervalMs, which is 200",
  ],
  [
    { disconnectGracePeriodMs: 1000 },
    "disconnectGracePeriodMs",
    "is 1000 and must be less than ttlMs, which is 1000",
  ],
  [{ stopMarginMs: 501 }, "stopMarginMs", "is 501 and must be at most half of ttlMs, which is 1000"],
  [
    { heartbeatIntervalMs: 333, stopMarginMs: 450 },
    "stopMarginMs",
    "is 450 and leaves 540 ms of the lease, less than heartbeatIntervalMs and connectionTimeoutMs take together, which is 582",
  ],
  [
    { retry: { initialBackoffMs: 500, maxBackoffMs: 400 } },
    "retry.maxBackoffMs",
    "is 400 and must not be less than retry.initialBackoffMs, which is 500",
  ],
  [{ retry: { jitter: 1.1 } }, "retry.jitter", "must be a number from 0 to 1"],
  [{ retry: { multiplier: 0.5 } }, "retry.multiplier", "must be a number from 1 to 100"],
  [{ retry: { maxAttempts: -1 } }, "retry.maxAttempts", "must be a whole number from 0"],
  [{ retry: { attempts: 1 } }, "retry.attempts", "not known"],
  [{ retry: 5 }, "retry", "must be an object"],
  [{ fencing: { cacheToken: true } }, "fencing.cacheToken", "fencing.validationIntervalMs is 0"],
  [{ fencing: { validateOnCriticalOps: 1 } }, "fencing.validateOnCriticalOps", "must be true or false"],
  [{ healthChecker: {} }, "healthChecker", "must be a function"],
  [{ maxConsecutiveFailures: 0 }, "maxConsecutiveFailures", "must be a whole number from 1"],
  [{ maxHealthFailures: 0 }, "maxHealthFailures", "must be a whole number from 1"],
  [{ campaignWaitMs: 60_001 }, "campaignWaitMs", "must be a whole number from 0 to 60000"],
  [{ takeoverDelayMs: -1 }, "takeoverDelayMs", "must be a whole number from 0"],
  [{ deleteOnStop: "no" }, "deleteOnStop", "must be true or false"],
  [{ driftRatio: 0.5 }, "driftRatio", "must be a number from 0 to 0.2"],
  [{ priority: 1.5 }, "priority", "whole"],
  [{ heartbeat: 5 }, "heartbeat", "not known"],
  [{ logger: {} }, "logger.debug", "must be a function; logger needs debug, info, warn, error"],
  [{ logger: { debug() {}, info() {}, warn() {} } }, "logger.error", "must be a function"],
  [{ logger: 5 }, "logger", "must be an object with the methods debug, info, warn, error"],
  [{ metrics: { isLeader() {} } }, "metrics.connectionStatus", "must be a function"],
  [{ tracer: {} }, "tracer.startSpan", "must be a function"],
  [{ onPromoteFailure: "ignore" }, "onPromoteFailure", 'must be "resign" or "keep"'],
  [
    { disconnectGracePeriodMs: 349 },
    "disconnectGracePeriodMs",
    "is 349 and must be at least heartbeatIntervalMs and connectionTimeoutMs together, which is 350",
  ],
  [{ metadata: 5 }, "metadata", "must be an object"],
  [{ metadata: { a: { b: [1, () => 2] } } }, "metadata.a.b[1]", "is of type function"],
  [{ metadata: { a: Symbol("x") } }, "metadata.a", "is of type symbol"],
  [{ metadata: { a: Number.NaN } }, "metadata.a", "is NaN, which JSON cannot hold"],
  [{ metadata: { text: "x".repeat(5000) } }, "metadata", "bytes as JSON, at most 4096"],
])("the election options %j are refused, naming %s", (wrong, field, message) => {
  let failure: unknown;
  try {
    parseElection({ ...MINIMAL, ...wrong });
  } catch (error) {
    failure = error;
  }
  expect(failure).toMatchObject({ code: "INVALID_REQUEST", field });
  expect((failure as Error).message).toContain(message);
});

test("metadata that contains itself is refused with its path", () => {
  const metadata: Record<string, unknown> = { a: {} };
  metadata["a"] = { again: metadata };
  expect(() => parseElection({ ...MINIMAL, metadata })).toThrow("metadata.a.again contains itself");
});

test("metadata is copied, so later changes of the object have no effect, and dates become strings", () => {
  const given = { since: new Date(0), left: undefined };
  const { metadata } = parseElection({ ...MINIMAL, metadata: given });
  expect(metadata).toEqual({ since: "1970-01-01T00:00:00.000Z" });
});

test("nodeId and ttlMs have defaults; the nodeId is the same in all elections of a process", () => {
  const { nodeId, ttlMs } = parseElection({ groupId: "g" });
  expect(ttlMs).toBe(5000);
  expect(nodeId).toBe(parseElection({ groupId: "h" }).nodeId);
  expect(makeNodeId("web 7.example:ü", "ab12")).toBe("web-7.example--ab12");
  expect(makeNodeId("", "ab12")).toBe("node-ab12");
  expect(() => parseElection({ groupId: "g", nodeId: makeNodeId("h".repeat(300), "ab12") })).not.toThrow();
});

test("options that are not an object are refused", () => {
  expect(() => parseElection(null as never)).toThrow("options must be an object");
});
