/** `tenure run` and `tenure serve` as services of systemd: the messages that arrive at a real notification socket. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { ReportedRun } from "./reported-run.test-kit.js";

const LISTENER = fileURLToPath(new URL("../../src/run/datagrams.test-kit.pl", import.meta.url));

/** A notification socket. */
class NotifySocket implements AsyncDisposable {
  readonly path: string;
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #wake: () => void = () => {};

  constructor(directory: string) {
    this.path = join(directory, "notify");
    this.#child = spawn("perl", [LISTENER, this.path], { stdio: ["ignore", "pipe", "inherit"] });
    // A test that takes too long does not dispose of it.
    process.once("exit", this.#kill);
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.#lines.push(line);
      this.#wake();
    });
  }

  /** Everything that has arrived, once so many assignments of it are this. */
  async until(assignment: RegExp, count = 1): Promise<readonly string[]> {
    const all = (): readonly string[] => this.#lines.flatMap((line) => line.split("|"));
    while (all().filter((each) => assignment.test(each)).length < count) {
      if (this.#child.exitCode !== null) throw new Error("the listener has ended");
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return all();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#kill);
    const exited = once(this.#child, "exit");
    this.#kill();
    await exited;
  }

  readonly #kill = (): void => void this.#child.kill("SIGKILL");
}

describe.skipIf(isMissing("systemd"))("tenure run under systemd", () => {
  const scratch = new Scratch();
  let server: string;
  beforeAll(async () => {
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"];
    server = (await scratch.serve(args)).url;
  });
  afterAll(() => scratch.close());

  it("tenure run notifies systemd that it is ready, of its state, of its watchdog and of its end", async () => {
    await using socket = new NotifySocket(scratch.directory());
    await socket.until(/^listening$/);
    const env = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "2000000", WATCHDOG_PID: "" };
    const print = ["sh", "-c", "echo [$NOTIFY_SOCKET$WATCHDOG_USEC]; sleep 1000"];
    await using run = new ReportedRun({
      server,
      group: "g",
      args: ["--node-id", "n", "--", ...print],
      env,
    });
    const first = await socket.until(/^STATUS=n leads g in term 1$/);
    expect(first).toContain("READY=1");
    await run.until("its command runs", () => run.stdout !== "");
    expect(run.stdout).toBe("[]\n");
    // The first one is sent at the start, the second after half of the period.
    await socket.until(/^WATCHDOG=1$/, 3);
    await run.end();
    const last = await socket.until(/^STATUS=tenure run ended; exit code 143$/);
    expect(last.indexOf("STOPPING=1")).toBeGreaterThan(last.indexOf("READY=1"));
    expect(run.events).not.toContain("notify_failed");
  });

  it("tenure serve notifies systemd that it is ready when it listens, and of its end", async () => {
    await using socket = new NotifySocket(scratch.directory());
    await socket.until(/^listening$/);
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "error"];
    const served = await scratch.serve(args, { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "2000000" });
    const first = await socket.until(/^WATCHDOG=1$/, 2);
    expect(first).toContain("READY=1");
    expect(first).toContain(`STATUS=listening on ${served.url} (store: memory)`);
    expect(await served.end("SIGTERM")).toBe(0);
    const last = await socket.until(/^STOPPING=1$/);
    expect(last.indexOf("STOPPING=1")).toBeGreaterThan(last.indexOf("READY=1"));
    expect(served.stderr).toBe("");
  });

  it("a waiting node is ready for systemd, and pings no watchdog of another process", async () => {
    await using socket = new NotifySocket(scratch.directory());
    await socket.until(/^listening$/);
    await scratch.run(["campaign", "taken", "--node-id", "other", "--ttl", "60s", "--server", server]);
    const env = { NOTIFY_SOCKET: socket.path, WATCHDOG_USEC: "2000000", WATCHDOG_PID: "1" };
    await using run = new ReportedRun({ server, group: "taken", args: ["--", "true"], env });
    expect(await socket.until(/^STATUS=other leads taken in term 1; waiting$/)).toContain("READY=1");
    await run.end();
    expect(await socket.until(/^STOPPING=1$/)).not.toContain("WATCHDOG=1");
  });

  it("tenure run reports once that it cannot notify systemd, and works all the same", async () => {
    const env = { NOTIFY_SOCKET: join(scratch.directory(), "nobody"), PATH: "/bin:/usr/bin" };
    await using run = new ReportedRun({ server, group: "deaf", args: ["--", "true"], env });
    expect(await run.ended()).toBe(0);
    expect(run.events.filter((event) => event === "notify_failed")).toHaveLength(1);
    const noProgram = { NOTIFY_SOCKET: join(scratch.directory(), "nobody"), PATH: "/nowhere" };
    const args = ["--", "/bin/true"];
    await using other = new ReportedRun({ server, group: "deaf", args, env: noProgram });
    expect(await other.next("notify_failed")).toMatchObject({
      message: expect.stringMatching(
        /^systemd is not notified: systemd-notify cannot be run: .*ENOENT/,
      ) as string,
    });
    expect(await other.ended()).toBe(0);
  });
});
