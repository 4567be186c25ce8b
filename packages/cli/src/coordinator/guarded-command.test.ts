/** A command and its guardian form one process group: whichever is killed, frozen or slow, no process is left. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GuardedCommand } from "@tenure/coordinator";
import { standsStill } from "@tenure/engines";
import { afterAll, describe, expect, it, vi } from "vitest";
import { isAlive } from "../run/run-process.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const scratch = new Scratch();
afterAll(() => scratch.close());

const KILLED = { code: null, signal: "SIGKILL", byLease: false };
const DEAF = "trap '' TERM; while :; do sleep 1000; done";

interface Guarded {
  readonly command: GuardedCommand;
  /** The pids of the shell and its children, once they have printed them. */
  readonly pids: () => readonly number[];
  readonly guardian: number;
}

/** The script may call `said` with a process id, which is looked up later. */
function guarded(text: string, leftMs: () => number = () => 60_000): Guarded {
  const file = join(scratch.directory(), "pids");
  const before = new Set(childrenOfThis());
  const command = new GuardedCommand({
    command: {
      file: "/bin/sh",
      args: ["-c", `said() { echo "$1" >>'${file}'; }; ${text}`],
      env: process.env,
      cwd: null,
    },
    lease: { leftMs },
    killMarginMs: 1000,
    tellEveryMs: 20,
    stdio: "ignore",
  });
  const guardian = childrenOfThis().find((pid) => !before.has(pid)) ?? 0;
  const pids = (): readonly number[] =>
    existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n").map(Number) : [];
  return { command, pids, guardian };
}

function childrenOfThis(): readonly number[] {
  const { pid } = process;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
}

/** Blocks this process's event loop, so that it receives nothing meanwhile. */
function waitDeaf(isSo: () => boolean): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; !isSo(); looks++) {
    if (looks > 2000) throw new Error("not within 10 s");
    Atomics.wait(cell, 0, 0, 5);
  }
}

function expectGone({ pids, guardian }: Guarded, count: number): void {
  expect(pids()).toHaveLength(count);
  expect([guardian, ...pids()].filter(isAlive)).toEqual([]);
}

describe("a guarded command", () => {
  it("a guarded command can be killed before its guardian has reported it, even if the guardian is stopped", async () => {
    const run = guarded(`said $$; ${DEAF}`);
    waitDeaf(() => run.pids().length === 1);
    process.kill(run.guardian, "SIGSTOP");
    run.command.kill();
    await run.command.ended;
    expectGone(run, 1);
  });

  it("a guarded command is killed in time by its owner if its guardian is stopped", async () => {
    let leftMs = 60_000;
    const run = guarded(`said $$; ${DEAF}`, () => leftMs);
    waitDeaf(() => run.pids().length === 1);
    process.kill(run.guardian, "SIGSTOP");
    await standsStill(run.guardian);
    const ended = run.command.end("SIGTERM", 60_000);
    leftMs = 100;
    expect(await ended).toEqual({ ...KILLED, byLease: true });
    expectGone(run, 1);
  });

  it("a guarded command is killed in time by its guardian if its owner is held up", async () => {
    const untilMs = performance.now() + 2500;
    const run = guarded(`said $$; ${DEAF}`, () => untilMs - performance.now());
    waitDeaf(() => run.pids().length === 1);
    waitDeaf(() => !run.pids().some(isAlive));
    expect(performance.now()).toBeLessThan(untilMs);
    expect(await run.command.ended).toEqual({ ...KILLED, byLease: true });
    expectGone(run, 1);
  });

  it("a guarded command is not started when the lease is about to end", async () => {
    const run = guarded("said $$", () => 50);
    expect(await run.command.ended).toEqual({ ...KILLED, byLease: true });
    expectGone(run, 0);
  });

  it("a guarded command dies with its guardian", async () => {
    const run = guarded(`said $$; ${DEAF}`);
    waitDeaf(() => run.pids().length === 1);
    process.kill(run.guardian, "SIGKILL");
    expect(await run.command.ended).toEqual(KILLED);
    expectGone(run, 1);
  });

  it("a guarded command may kill its whole process group, including its guardian", async () => {
    const run = guarded("said $$; kill -9 0");
    expect(await run.command.ended).toEqual(KILLED);
    expectGone(run, 1);
  });

  it("a guarded command's background processes die with it, and its exit code is returned", async () => {
    const run = guarded(`said $$; (${DEAF}) & said $!; exit 7`);
    expect(await run.command.ended).toEqual({ code: 7, signal: null, byLease: false });
    expectGone(run, 2);
  });

  it.each(["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGTSTP"] as const)(
    "a guarded command receives %s, which does not end its guardian, even if sent to the process group",
    async (signal) => {
      const name = signal.slice(3);
      const run = guarded(`trap 'exit 5' ${name}; said $$; while :; do sleep 0.01; done`);
      waitDeaf(() => run.pids().length === 1);
      expect(await run.command.end(signal, 60_000)).toEqual({ code: 5, signal: null, byLease: false });
      expectGone(run, 1);
      const own = guarded(`trap '' ${name}; said $$; kill -${name} 0; exit 6`);
      expect(await own.command.ended).toEqual({ code: 6, signal: null, byLease: false });
    },
  );

  it("a guarded command ends by a signal that was sent before it ran", async () => {
    const run = guarded("said $$; exec sleep 1000");
    expect(await run.command.end("SIGTERM", 60_000)).toEqual({
      code: null,
      signal: "SIGTERM",
      byLease: false,
    });
  });

  it("a guarded command that has ended is not signalled again, because its pid may be reused", async () => {
    const run = guarded("said $$; exit 0");
    await run.command.ended;
    const signalled = vi.spyOn(process, "kill");
    run.command.kill();
    run.command.signal("SIGTERM");
    expect(signalled).not.toHaveBeenCalled();
    signalled.mockRestore();
    expectGone(run, 1);
  });

  it("a guarded command that cannot be run rejects with the reason", async () => {
    const command = new GuardedCommand({
      command: { file: "/no/such/file", args: [], env: process.env, cwd: null },
      lease: { leftMs: () => 60_000 },
      killMarginMs: 1000,
      tellEveryMs: 20,
    });
    await expect(command.ended).rejects.toThrow(/^command \/no\/such\/file cannot be run: .*ENOENT/);
  });
});
