import { BackendUnavailableError } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { pino } from "pino";
import { expect, test } from "vitest";
import { StoreReports } from "./store-reports.js";

test("an unreachable store is logged once for each reason, again after a minute, and once when it is open", async () => {
  const lines: { level: number; msg: string; reason?: string }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as never) });
  const clock = new VirtualClock();
  const reports = new StoreReports(log, clock);
  const fail = (reason: string, isRefused = false) =>
    reports.report({ kind: "unreachable", reason: new BackendUnavailableError(reason), isRefused });
  fail("a");
  fail("a");
  await clock.advance(59_999);
  fail("a");
  fail("b", true);
  await clock.advance(59_999);
  fail("b", true);
  await clock.advance(1);
  fail("b", true);
  reports.report({ kind: "opened" });
  expect(lines.map(({ level, msg, reason }) => [level, msg, reason])).toEqual([
    [40, "store unreachable; retrying", "a"],
    [50, "store refused this server; retrying", "b"],
    [50, "store refused this server; retrying", "b"],
    [30, "store opened", undefined],
  ]);
});
