import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import type { Origin } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { AuditLog } from "./audit-log.js";
import { auditedLog } from "./audit.test-kit.js";

function open() {
  const clock = new VirtualClock();
  const { log, lines } = auditedLog();
  return { clock, lines, audit: new AuditLog(log, clock) };
}

const origin = (remoteAddress: string): Origin => ({ transport: "http", remoteAddress, requestId: "r1" });
const ADMIN: Caller = { kind: "jwt", role: "admin", name: "ada", origin: origin("10.0.0.1") };
const NODE: Caller = { kind: "jwt", role: "node", name: "n1", groups: null, origin: origin("10.0.0.2") };
const failed = (address: string) =>
  ({ kind: "jwt", reason: "the signature of the token is invalid", origin: origin(address) }) as const;
const pause = { act: "pause", groupId: "g" };

describe("the audit log", () => {
  it("every audit line of an action has the same fields", () => {
    const { audit, lines } = open();
    audit.adminAct({ caller: ADMIN, ...pause, details: { reason: "why" }, outcome: "done" });
    audit.adminActDenied({ caller: NODE, ...pause, details: {}, outcome: "UNAUTHORIZED" });
    audit.loginFailed(failed("10.0.0.3"));
    for (const line of lines) {
      expect(line).toMatchObject({ audit: true, level: 30, request_id: "r1", transport: "http" });
    }
    expect(lines).toMatchObject([
      {
        event: "admin-act",
        act: "pause",
        caller: { kind: "jwt", role: "admin", name: "ada" },
        remote_address: "10.0.0.1",
        group_id: "g",
        details: { reason: "why" },
        outcome: "done",
      },
      { event: "admin-act", caller: { role: "node", name: "n1" }, outcome: "UNAUTHORIZED" },
      {
        event: "login-failed",
        caller: { kind: "jwt", role: null, name: null },
        remote_address: "10.0.0.3",
        outcome: "UNAUTHENTICATED",
        reason: "the signature of the token is invalid",
      },
    ]);
  });

  it("audit lines of failed logins are limited by address, and the number of omitted lines is written", async () => {
    const { clock, audit, lines } = open();
    for (let i = 0; i < 1000; i++) audit.loginFailed(failed("10.0.0.1"));
    audit.loginFailed(failed("10.0.0.2"));
    expect(lines.filter((line) => line["remote_address"] === "10.0.0.1")).toHaveLength(20);
    expect(lines.filter((line) => line["remote_address"] === "10.0.0.2")).toHaveLength(1);
    lines.length = 0;
    await clock.advance(60_000);
    expect(lines).toMatchObject([
      { event: "suppressed", count: 980, most: { "login-failed address 10.0.0.1": 980 } },
    ]);
    // Written once: the next minute has no line.
    await clock.advance(60_000);
    expect(lines).toHaveLength(1);
    audit.loginFailed(failed("10.0.0.1"));
    expect(lines.at(-1)).toMatchObject({ event: "login-failed" });
  });

  it("audit lines of all addresses together are limited, however many addresses there are", async () => {
    const { clock, audit, lines } = open();
    for (let i = 0; i < 30_000; i++) audit.loginFailed(failed(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`));
    expect(lines).toHaveLength(200);
    await clock.advance(60_000);
    expect(lines.at(-1)).toMatchObject({ event: "suppressed", count: 29_800 });
    expect(Object.keys(lines.at(-1)?.["most"] as object)).toHaveLength(10);
  });

  it("the audit log writes the number of omitted lines when the server stops", async () => {
    const { audit, lines } = open();
    for (let i = 0; i < 21; i++) audit.loginFailed(failed("10.0.0.1"));
    await audit[Symbol.asyncDispose]();
    expect(lines.at(-1)).toMatchObject({ event: "suppressed", count: 1 });
  });

  it("the audit log never omits an action of an admin", () => {
    const { audit, lines } = open();
    for (let i = 0; i < 5000; i++) audit.adminAct({ caller: ADMIN, ...pause, outcome: "done" });
    expect(lines).toHaveLength(5000);
  });

  it("audit lines of refused actions of one caller are limited", () => {
    const { audit, lines } = open();
    for (let i = 0; i < 5000; i++) audit.adminActDenied({ caller: NODE, ...pause, outcome: "UNAUTHORIZED" });
    expect(lines).toHaveLength(20);
  });

  it("an admin's renewals in a node's name are audited once for each node, group and term", () => {
    const { audit, lines } = open();
    const renewal = { caller: ADMIN, act: "renew", groupId: "g", nodeId: "n1", outcome: "done" };
    for (let i = 0; i < 1000; i++) audit.actedAs({ ...renewal, term: 1 });
    for (let i = 0; i < 1000; i++) audit.actedAs({ ...renewal, term: 2 });
    audit.actedAs({ ...renewal, term: 2, nodeId: "n2" });
    expect(lines).toMatchObject([
      { event: "acting-as", act: "renew", node_id: "n1", term: 1, caller: { name: "ada" } },
      { node_id: "n1", term: 2 },
      { node_id: "n2", term: 2 },
    ]);
  });

  it("without authentication no action counts as done in another's name", () => {
    const { audit, lines } = open();
    const caller: Caller = { kind: "none", role: "admin", name: "loopback" };
    audit.actedAs({ caller, act: "renew", groupId: "g", nodeId: "n1", term: 1, outcome: "done" });
    expect(lines).toEqual([]);
  });
});
