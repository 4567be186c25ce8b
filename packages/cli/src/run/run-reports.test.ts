/** What `tenure run` reports, against real servers. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { RestartedServer } from "../restarted-server.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { ReportedRun } from "./reported-run.test-kit.js";
import { RUN_EVENTS } from "./run-report.js";

const DEAF = ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"];

describe("what tenure run reports", () => {
  const scratch = new Scratch();
  let server: string;
  beforeAll(async () => {
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"];
    server = (await scratch.serve(args)).url;
  });
  afterAll(() => scratch.close());

  const tenure = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await command([...args, "--server", server]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  };
  const run = (group: string, ...args: readonly string[]): ReportedRun =>
    new ReportedRun({ server, group, args: ["--node-id", "n", ...args] });

  async function lateServer(
    options: readonly string[],
    args: readonly string[],
  ): Promise<{ readonly run: ReportedRun; readonly code: number | null }> {
    const [port] = await freePorts(1);
    await using late = new ReportedRun({ server: `http://127.0.0.1:${port}`, group: "late", args });
    expect(await late.next("connection_lost")).toMatchObject({
      target: `http://127.0.0.1:${port}`,
      message: expect.stringMatching(
        new RegExp(`^connection lost: http://127\\.0\\.0\\.1:${port}: .*; retrying$`),
      ) as string,
    });
    const listen = ["--listen", `127.0.0.1:${port}`, "--store", "memory:", "--log-level", "error"];
    const started = await scratch.serve([...listen, ...options]);
    const code = await late.ended();
    await started.end("SIGKILL");
    return { run: late, code };
  }

  it("a ttl outside the policy ends tenure run with 2, also if the server was not up at first", async () => {
    const { run: ended, code } = await lateServer([], ["--ttl", "5m", "--", "echo", "never"]);
    expect(code).toBe(2);
    expect(ended.stdout).toBe("");
    expect(ended.reports.at(-1)).toMatchObject({
      event: "failed",
      error: "INVALID_TTL",
      exit_code: 2,
      message: "--ttl 5m is outside 500ms to 1m, which the policy of late allows",
    });
    expect(ended.events).not.toContain("refused");
  });

  it("missing credentials end tenure run with 1, also if the server was not up at first", async () => {
    const file = join(scratch.directory(), "token");
    writeFileSync(file, "a-token-that-is-long-enough-for-an-admin\n", { mode: 0o600 });
    const { run: ended, code } = await lateServer(["--admin-token-file", file], ["--", "echo", "never"]);
    expect(code).toBe(1);
    expect(ended.reports.at(-1)).toMatchObject({ event: "failed", error: "UNAUTHENTICATED", exit_code: 1 });
  });

  it("a leader whose ttl is forbidden later reports the refusal with the loss, reports the refusal once, and leads again when it is allowed", async () => {
    await tenure("groups", "create", "tightened");
    await using leader = run("tightened", "--ttl", "3s", "--", "sleep", "1000");
    await leader.next("elected");
    await tenure("groups", "update", "tightened", "--max-ttl", "2s");
    expect(await leader.next("lost")).toMatchObject({
      reason: "refused",
      error: "INVALID_TTL",
      message:
        "n no longer leads tightened, term 1: renewal refused: " +
        "--ttl 3s is outside 500ms to 2s, which the policy of tightened allows",
    });
    expect(await leader.next("refused")).toMatchObject({
      request: "campaign",
      error: "INVALID_TTL",
      permanent: true,
      retry_in_ms: 5000,
      message:
        "refused: --ttl 3s is outside 500ms to 2s, which the policy of tightened allows; trying again in 5s",
    });
    await tenure("groups", "update", "tightened", "--max-ttl", "4s");
    expect(await leader.next("elected")).toMatchObject({ term: 2 });
    expect(leader.events.filter((event) => event === "refused")).toHaveLength(1);
    await leader.end();
  });

  it("a node that waited and is then forbidden reports each new refusal once and keeps waiting", async () => {
    await tenure("campaign", "closed", "--node-id", "other", "--ttl", "60s");
    await using waiting = run("closed", "--", "true");
    await waiting.next("waiting");
    await tenure("groups", "update", "closed", "--allow", "other");
    await tenure("resign", "closed", "--node-id", "other", "--term", "1");
    expect(await waiting.next("refused")).toMatchObject({ error: "UNAUTHORIZED", permanent: true });
    await tenure("groups", "update", "closed", "--allow", "other", "--allow", "n");
    await waiting.next("elected");
    expect(await waiting.ended()).toBe(0);
    expect(waiting.events.filter((event) => event === "refused")).toHaveLength(1);
  });

  it("a waiting node reports who leads and in which term, and each new leader once", async () => {
    await tenure("campaign", "taken", "--node-id", "first", "--ttl", "60s");
    await using waiting = run("taken", "--", "true");
    expect(await waiting.next("waiting")).toMatchObject({
      leader: "first",
      term: 1,
      message: "first leads taken in term 1; waiting",
    });
    await tenure("pause", "taken", "--reason", "disk swap");
    await tenure("resign", "taken", "--node-id", "first", "--term", "1");
    expect(await waiting.next("paused")).toMatchObject({
      held_back: "paused",
      for_ms: null,
      by: expect.any(String) as string,
      reason: "disk swap",
      since_ms: expect.any(Number) as number,
      message: expect.stringMatching(
        /^taken is paused by \S+ since [-\d]+ [:\d]+Z \(disk swap\); no new leader until tenure resume taken; waiting$/,
      ) as string,
    });
    await tenure("resume", "taken");
    expect(await waiting.next("elected")).toMatchObject({ term: 2 });
    await waiting.ended();
    expect(waiting.events.filter((event) => event === "waiting")).toHaveLength(1);
  });

  it("a node that is held back reports why: a takeover delay, and a ban", async () => {
    await tenure("groups", "create", "delayed", "--takeover-delay", "1m", "--min-ttl", "500ms");
    await tenure("campaign", "delayed", "--node-id", "gone", "--ttl", "500ms");
    await using delayed = run("delayed", "--", "true");
    expect(await delayed.next("held_back")).toMatchObject({
      held_back: "takeover_delay",
      message: expect.stringMatching(
        /^delayed has no leader for another [^:]+: the takeover delay after an expired lease is running; waiting$/,
      ) as string,
    });
    await tenure("campaign", "banned", "--node-id", "n", "--ttl", "60s");
    await tenure("step-down", "banned", "--force", "--ban", "5m");
    await using banned = run("banned", "--", "true");
    expect(await banned.next("held_back")).toMatchObject({ held_back: "banned" });
  });

  it("tenure run reports the stop signal, the grace and the kill of a command that ignores the signal", async () => {
    await using stubborn = run("stubborn", "--grace", "200ms", "--", ...DEAF);
    await stubborn.until("its command runs", () => stubborn.stdout === "up\n");
    expect(await stubborn.end()).toBe(137);
    expect(stubborn.reports.slice(-5)).toMatchObject([
      { event: "elected", term: 1 },
      {
        event: "stopping",
        signal: "SIGTERM",
        kill_in_ms: 200,
        message: "sent SIGTERM to the command; waiting up to 200ms",
      },
      { event: "killing", because: "grace" },
      { event: "exited", code: null, signal: "SIGKILL", exit_code: 137 },
      { event: "ended", exit_code: 137 },
    ]);
  });

  it("tenure run reports that its command exited, and when it starts the command again", async () => {
    const args = ["sh", "-c", 'test -e "$0" && exec sleep 1000; touch "$0"; exit 7'];
    await using again = run("again", "--restart", "--", ...args, join(scratch.directory(), "ran"));
    expect(await again.next("exited")).toMatchObject({
      code: 7,
      restart_in_ms: 1000,
      message: "the command exited with code 7; starting it again in 1s",
    });
    await again.end();
    expect(again.events.filter((event) => event === "elected")).toHaveLength(1);
  });

  it("a leader that loses its server reports the server and the rest of its lease, then that the connection is restored", async () => {
    const restarted = await RestartedServer.start(scratch, scratch.directory());
    const url = `http://127.0.0.1:${restarted.port}`;
    await using leader = new ReportedRun({
      server: url,
      group: "g",
      args: ["--ttl", "30s", "--", "sleep", "1000"],
    });
    await leader.next("elected");
    await restarted.end("SIGKILL");
    const lost = await leader.next("connection_lost");
    await restarted.killAndRestart();
    expect(lost.message).toMatch(
      /^connection lost: http:\/\/127\.0\.0\.1:\d+: .*; the lease lasts another [\d.]+m?s$/,
    );
    expect(lost["lease_left_ms"]).toBeGreaterThan(0);
    expect((await leader.next("connection_restored")).message).toMatch(/^connection restored after /);
    await leader.end();
    expect(leader.events).not.toContain("lost");
  });

  it("a failing health command is reported with its exit code and last line of stderr, and its recovery", async () => {
    const sick = join(scratch.directory(), "sick");
    writeFileSync(sick, "");
    const check = `test -e ${sick} || exit 0; echo first >&2; echo 'disk is full' >&2; exit 4`;
    await using patient = run("sick", "--ttl", "10s", "--health-cmd", check, "--", "true");
    expect(await patient.next("health_failed")).toMatchObject({
      exit_code: 4,
      last_line: "disk is full",
      message: "health command failed: exit code 4 (disk is full); not campaigning until it succeeds",
    });
    rmSync(sick);
    await patient.next("health_restored");
    await patient.next("elected");
    await patient.ended();
    expect(patient.events.filter((event) => event === "health_failed")).toHaveLength(1);
  });

  it("a health command that does not exit in time is reported as that", async () => {
    await using slow = run("slow", "--ttl", "1s", "--health-cmd", "sleep 1000", "--", "true");
    expect(await slow.next("health_failed")).toMatchObject({
      exit_code: null,
      message: "health command failed: no exit within 150ms; not campaigning until it succeeds",
    });
  });

  describe("tenure run --once", () => {
    it("ends with 3 and the leader's name if another node leads", async () => {
      await tenure("campaign", "once-taken", "--node-id", "other", "--ttl", "60s");
      await using once = run("once-taken", "--once", "--", "echo", "never");
      expect(await once.ended()).toBe(3);
      expect(once.reports).toMatchObject([
        {
          event: "ended",
          message: "this node does not lead once-taken: other leads once-taken in term 1; exit code 3",
        },
      ]);
    });

    it("ends with 3 if its health command fails", async () => {
      await using once = run("once-sick", "--once", "--health-cmd", "false", "--", "echo", "never");
      expect(await once.ended()).toBe(3);
      expect(once.events).toEqual(["health_failed", "ended"]);
    });

    it("ends with 3 if the group is paused", async () => {
      await tenure("groups", "create", "once-paused");
      await tenure("pause", "once-paused", "--reason", "disk swap");
      await using once = run("once-paused", "--once", "--", "echo", "never");
      expect(await once.ended()).toBe(3);
      expect(once.reports.at(-1)?.message).toMatch(
        /^this node does not lead once-paused: once-paused is paused by \S+ since .* \(disk swap\); /,
      );
    });

    it("ends with 3 if the group is held back", async () => {
      await tenure("campaign", "once-banned", "--node-id", "n", "--ttl", "60s");
      await tenure("step-down", "once-banned", "--force", "--ban", "5m");
      await using once = run("once-banned", "--once", "--", "echo", "never");
      expect(await once.ended()).toBe(3);
      expect(once.reports.at(-1)?.message).toMatch(/: n may not lead once-banned for another /);
    });

    it("ends with 3 after it has led and lost the leadership", async () => {
      await using once = run("once-led", "--once", "--", "sleep", "1000");
      await once.next("elected");
      await tenure("step-down", "once-led");
      expect(await once.ended()).toBe(3);
      expect(once.events).toContain("lost");
    });
  });

  it("each line of tenure run --json has the name of an event, its time, its group and its node", async () => {
    await using short = run("named", "--", "true");
    expect(await short.ended()).toBe(0);
    expect(short.events).toEqual(["elected", "exited", "ended"]);
    for (const report of short.reports)
      expect(report).toMatchObject({ group_id: "named", node_id: "n", ts_ms: expect.any(Number) as number });
  });

  it("docs/COMMAND.md describes each event of tenure run, and no other", () => {
    const page = readFileSync(fileURLToPath(new URL("../../../../docs/COMMAND.md", import.meta.url)), "utf8");
    const [, table = ""] = /\| event [^\n]*\n((?:\|[^\n]*\n)+)/.exec(page) ?? [];
    const named = [...table.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set<unknown>(RUN_EVENTS));
  });
});
