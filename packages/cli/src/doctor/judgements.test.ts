/** How doctor judges what it has seen. */
import type { Finding as Attention } from "@tenure/api";
import { describe, expect, it } from "vitest";
import { ClockOffset } from "../frame/clock-offset.js";
import { checkValidity } from "./certificate-checks.js";
import { judgeSkew } from "./clock-checks.js";
import { judgeFileSystem } from "./engines/embedded-checks.js";
import { fsync } from "./engines/etcd-checks.js";
import { judgeSettings } from "./engines/postgres-checks.js";
import { judgeServer } from "./engines/zookeeper-checks.js";
import type { Finding } from "./finding.js";
import { alone, calm } from "./group-checks.js";
import { sumOf } from "./server-checks.js";
import { isBefore } from "./engines/server-findings.js";
import { judgeWrites } from "./write-check.js";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 1);

const levels = (findings: readonly Finding[]): string[] => findings.map(({ level }) => level);

it.each([
  [0, "ok"],
  [1500, "ok"],
  [60_000, "wrong"],
  [-60_000, "wrong"],
])("a wall clock that is %d ms ahead is %s", (aheadMs, level) => {
  const offset = new ClockOffset();
  for (let index = 0; index < 20; index++) {
    const sentAtMs = NOW + index * 93;
    const served = new Date(Math.floor((sentAtMs + aheadMs) / 1000) * 1000).toUTCString();
    offset.take({ headers: { date: served }, sentAtMs, answeredAtMs: sentAtMs + 2 });
  }
  expect(judgeSkew("clocks", offset).level).toBe(level);
});

it.each([
  ["a year left of two", -365, 365, "ok"],
  ["ten days left of a year", -355, 10, "warning"],
  ["a day left of a year", -364, 1, "wrong"],
  ["ten hours left of a day", -0.58, 0.42, "ok"],
  ["two hours left of a day", -0.92, 0.08, "wrong"],
  ["expired", -365, -1, "wrong"],
  ["not yet valid", 1, 365, "wrong"],
])("the validity of a certificate is judged: %s", (_case, fromDays, untilDays, level) => {
  const validity = { fromMs: NOW + fromDays * DAY_MS, untilMs: NOW + untilDays * DAY_MS };
  expect(checkValidity("certificate", validity, NOW).level).toBe(level);
});

it.each([
  ["ok", [10, 20, 30]],
  ["note", [60, 80, 500]],
  ["wrong", [90, 130, 140]],
])("writes that must fit into the shortest lease several times are judged %s", (level, tookMs) => {
  expect(judgeWrites(tookMs, 500).level).toBe(level);
});

function attention(
  kind: Attention["kind"],
  severity: Attention["severity"],
  groupId: string | null,
): Attention {
  return { kind, severity, groupId, sinceMs: null, summary: "", nextStep: "" };
}

it("groups count as calm only if no finding says that one flaps, lacks a leader or is paused", () => {
  const calmWith = (...found: readonly Attention[]): number => calm(found, 3).length;
  expect(calmWith(attention("no_standby", "note", "g"))).toBe(1);
  expect(calmWith(attention("flapping", "warning", "g"))).toBe(0);
  expect(calmWith(attention("vacant", "note", "g"))).toBe(0);
  expect(calmWith(attention("paused_long", "note", "g"))).toBe(0);
});

it("groups without a candidate besides their leader are named in one note", () => {
  const found = (...groupIds: readonly string[]): Attention[] =>
    groupIds.map((groupId) => attention("no_standby", "note", groupId));
  expect(alone([])).toEqual([]);
  expect(alone(found("b", "a"))).toMatchObject([
    { level: "note", says: "no candidate could take over a, b if the leader fails" },
  ]);
  expect(alone(found("a", "b", "c", "d", "e", "f", "g"))[0]?.says).toContain("a, b, c, d, e and 2 more");
});

describe("the judgement of an engine", () => {
  it("PostgreSQL without fsync, or with a standby that may lag, is a problem", () => {
    const good = {
      version: "15.4 (Debian)",
      fsync: "on",
      full_page_writes: "on",
      synchronous_commit: "on",
      synchronous_standby_names: "*",
      is_standby: false,
      standbys: 1,
      synchronous_standbys: 1,
    };
    expect(levels(judgeSettings("pg", good))).toEqual(["ok", "ok"]);
    expect(levels(judgeSettings("pg", { ...good, fsync: "off" }))).toContain("wrong");
    expect(levels(judgeSettings("pg", { ...good, full_page_writes: "off" }))).toContain("wrong");
    expect(levels(judgeSettings("pg", { ...good, synchronous_standbys: 0 }))).toContain("wrong");
    expect(levels(judgeSettings("pg", { ...good, standbys: 0, synchronous_standbys: 0 }))).toContain("wrong");
    expect(levels(judgeSettings("pg", { ...good, version: "11.9" }))).toContain("wrong");
    expect(levels(judgeSettings("pg", { ...good, synchronous_commit: "off" }))).toEqual(["ok", "note", "ok"]);
  });

  it("ZooKeeper that is too old, or does not serve, is a problem", () => {
    const answer = (version: string) => `Zookeeper version: ${version}-abc, built on x\nMode: leader\n`;
    expect(judgeServer("zk", answer("3.8.0"))).toMatchObject({ isServing: true, finding: { level: "ok" } });
    expect(judgeServer("zk", answer("3.4.13"))).toMatchObject({
      isServing: true,
      finding: { level: "wrong" },
    });
    const idle = "This ZooKeeper instance is not currently serving requests\n";
    expect(judgeServer("zk", idle)).toMatchObject({ isServing: false, finding: { level: "wrong" } });
  });

  it("a directory on the network, in memory or on a full disk is a problem", () => {
    const room = 2 ** 34;
    expect(levels(judgeFileSystem("d", { type: 0xef53, freeBytes: room }))).toEqual(["ok"]);
    expect(levels(judgeFileSystem("d", { type: 0x6969, freeBytes: room }))).toEqual(["wrong", "ok"]);
    expect(levels(judgeFileSystem("d", { type: 0x01021994, freeBytes: room }))).toEqual(["wrong", "ok"]);
    expect(levels(judgeFileSystem("d", { type: 0xef53, freeBytes: 1000 }))).toEqual(["wrong"]);
  });

  it("etcd is judged by the slowest of a hundred of its flushes", () => {
    const metrics = (fast: number) =>
      ["0.001", "0.512", "+Inf"]
        .map(
          (le, index) => `etcd_disk_wal_fsync_duration_seconds_bucket{le="${le}"} ${[fast, 100, 100][index]}`,
        )
        .concat("etcd_disk_wal_fsync_duration_seconds_count 100")
        .join("\n");
    expect(levels(fsync("etcd", metrics(99)))).toEqual(["ok"]);
    expect(levels(fsync("etcd", metrics(98)))).toEqual(["wrong"]);
    expect(fsync("etcd", "")).toEqual([]);
  });
});

it.each([
  ["2.9.10", "2.9.21", true],
  ["v2.10.0-beta", "2.9.21", false],
  ["3.5", "3.5.0", false],
  ["15.4 (Debian 15.4-1)", "12", false],
])("version %s is before %s: %s", (version, other, expected) => {
  expect(isBefore(version, other)).toBe(expected);
});

it("metrics are summed over their labels", () => {
  const text = '# HELP x y\nrenews{reason="A"} 2\nrenews{reason="B"} 3\nrenews_more 9\nplain 4\n';
  expect(sumOf(text, "renews")).toBe(5);
  expect(sumOf(text, "renews", 'reason="B"')).toBe(3);
  expect(sumOf(text, "plain")).toBe(4);
});
