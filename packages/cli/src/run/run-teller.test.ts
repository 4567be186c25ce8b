import type { ElectionEvent } from "@tenure/client";
import {
  BackendUnavailableError,
  InvalidTtlError,
  MemoryStore,
  StoreElector,
  systemClock,
  UnauthorizedError,
} from "@tenure/core";
import { expect, it } from "vitest";
import type { RunReport } from "./run-report.js";
import { RunTeller } from "./run-teller.js";

const LOST: ElectionEvent = { kind: "campaign-lost", leader: { nodeId: "b", term: 3 } };

function refused(error: Error, request: "campaign" | "watch" = "campaign"): ElectionEvent {
  return { kind: "request-failed", request, error, permanent: true, retryInMs: 5000 };
}

async function reportsOf(events: readonly ElectionEvent[], once = false): Promise<readonly string[]> {
  await using elector = StoreElector.open({ store: new MemoryStore() });
  const reports: RunReport[] = [];
  const teller = new RunTeller({
    elector,
    groupId: "g",
    nodeId: "a",
    ttlMs: 300_000,
    healthTimeoutMs: 750,
    target: "http://127.0.0.1:7420",
    once,
    lease: { leftMs: () => 0 },
    clock: systemClock,
    report: (report) => reports.push(report),
  });
  for (const event of events) teller.notice(event);
  teller.close();
  return reports.map(({ event, message }) => `${event}: ${message}`);
}

const TTL = "refused: --ttl 5m is outside 500ms to 1m, which the policy of g allows; trying again in 5s";

it("a refusal is reported once until a campaign is accepted, and each other refusal once too", async () => {
  const ttl = refused(new InvalidTtlError("ttlMs", 300_000, 500, 60_000));
  const unauthorized = refused(new UnauthorizedError("a is not an allowed node"));
  expect(await reportsOf([ttl, ttl, unauthorized, ttl, LOST, ttl])).toEqual([
    `refused: ${TTL}`,
    expect.stringMatching(/^refused: refused: a is not an allowed node; .*; trying again in 5s$/),
    "waiting: b leads g in term 3; waiting",
    `refused: ${TTL}`,
  ]);
});

it("a watch that is refused is reported only once a campaign was accepted", async () => {
  const watch = refused(new UnauthorizedError("a may not watch"), "watch");
  expect(await reportsOf([watch])).toEqual([]);
  expect(await reportsOf([LOST, watch])).toHaveLength(2);
});

it("a connection that is lost while requests are refused is reported, and its return", async () => {
  const gone: ElectionEvent = {
    kind: "request-failed",
    request: "campaign",
    error: new BackendUnavailableError("no answer within 750 ms"),
    permanent: false,
    retryInMs: 100,
  };
  const back: ElectionEvent = { kind: "connection", status: "connected" };
  expect(await reportsOf([back, gone, gone, back, back])).toEqual([
    "connection_lost: connection lost: http://127.0.0.1:7420: no answer within 750 ms; retrying",
    expect.stringMatching(/^connection_restored: connection restored after /),
  ]);
  expect(await reportsOf([gone], true)).toEqual([]);
});
