/** `tenure run` as its user sees it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@tenure/core";
import { freePorts } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";

const BIN = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));

describe("tenure run", () => {
  const scratch = new Scratch();
  let directory: string;
  let server: string;
  beforeAll(async () => {
    directory = scratch.directory();
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"];
    server = (await scratch.serve(args)).url;
  });
  afterAll(() => scratch.close());

  function run(group: string, options: readonly string[], ...command: readonly string[]) {
    return scratch.run(["run", group, "--server", server, "--ttl", "5s", ...options, "--", ...command]);
  }

  async function leaderOf(group: string): Promise<string | undefined> {
    const { stdout } = await scratch.run(["leader", group, "--server", server, "--json"]);
    return (JSON.parse(stdout) as { leader: { node_id: string } | null }).leader?.node_id;
  }

  it("tenure run passes on the exit code of a command that ends by itself, and releases the lease", async () => {
    const { code, stdout, stderr } = await run(
      "own-end",
      ["--node-id", "a"],
      "sh",
      "-c",
      "echo out; echo err >&2; exit 7",
    );
    expect({ code, stdout }).toEqual({ code: 7, stdout: "out\n" });
    expect(stderr).toContain("err\n");
    expect(stderr).toContain("tenure: a leads own-end in term 1\n");
    expect(await leaderOf("own-end")).toBe(undefined);
  });

  it("tenure run passes its term and group to the command, and its input", async () => {
    const args = [
      BIN,
      "run",
      "input",
      "--server",
      server,
      "--",
      "sh",
      "-c",
      "echo $TENURE_GROUP $TENURE_TERM; cat",
    ];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.end("passed through\n");
    const [stdout] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(stdout).toBe("input 1\npassed through\n");
    expect(child.exitCode).toBe(0);
  });

  it("tenure run exits with 128 plus the number of the signal that ended its command", async () => {
    expect((await run("signalled", [], "sh", "-c", "kill -KILL $$")).code).toBe(137);
  });

  it("tenure run exits with 3 if another node leads and it should try once", async () => {
    await scratch.run(["campaign", "taken", "--node-id", "other", "--ttl", "60s", "--server", server]);
    const { code, stdout, stderr } = await run("taken", ["--once"], "echo", "never");
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: "",
      stderr: "tenure: this node does not lead taken: other leads taken in term 1; exit code 3\n",
    });
  });

  it("tenure run without a mandate does not pass on the mandate of another command", async () => {
    const command = ["run", "bare", "--server", server, "--", "sh", "-c", "echo [$TENURE_TOKEN]"];
    const { stdout } = await scratch.run(command, { TENURE_TOKEN: "another's" });
    expect(stdout).toBe("[]\n");
  });

  it("tenure run exits with 4 if no server answers and it should try once; otherwise it reports that and retries", async () => {
    const [port] = await freePorts(1);
    const args = ["run", "g", "--server", `http://127.0.0.1:${port}`, "--ttl", "1s"];
    const once_ = await scratch.run([...args, "--once", "--", "echo", "never"]);
    expect({ code: once_.code, stdout: once_.stdout }).toEqual({ code: 4, stdout: "" });
    expect(once_.stderr).toMatch(
      new RegExp(
        `^tenure: no server of the service answered \\(http://127\\.0\\.0\\.1:${port}: [^\\n]+\\); check that it runs [^\\n]+\\n$`,
      ),
    );
    const child = spawn(process.execPath, [BIN, ...args, "--json", "--", "echo", "never"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [line] = (await once(child.stderr.setEncoding("utf8"), "data")) as [string];
    expect(JSON.parse(line)).toMatchObject({ event: "connection_lost", target: `http://127.0.0.1:${port}` });
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
  });

  it("tenure run reports in one sentence that its ready file or port cannot be used, and does not lead", async () => {
    const file = join(directory, "no-such-directory", "ready");
    const unready = await run("unready", ["--ready-file", file], "sleep", "100");
    expect(unready.code).toBe(2);
    expect(unready.stderr.trim().split("\n").at(-1)).toMatch(
      /^tenure: --ready-file cannot be written: ENOENT/,
    );
    expect(await leaderOf("unready")).toBe(undefined);
    const taken = await run("portless", ["--http", `:${new URL(server).port}`], "sleep", "100");
    expect(taken).toMatchObject({ code: 2, stdout: "" });
    expect(taken.stderr).toMatch(/^tenure: --http cannot be served: [^\n]*EADDRINUSE[^\n]*\n$/);
  });

  it("tenure run reports in one sentence that a command does not exist", async () => {
    const { code, stderr } = await run("missing", [], "no-such-command");
    expect(code).toBe(2);
    expect(stderr.trim().split("\n").at(-1)).toMatch(/^tenure: .*no-such-command cannot be run: .*ENOENT/);
    expect(await leaderOf("missing")).toBe(undefined);
  });

  it("tenure run restarts a command that has ended, if configured, and ends with its lease on SIGTERM", async () => {
    const file = join(directory, "ready");
    const [port] = await freePorts(1);
    const options = [
      "--restart",
      "--ready-file",
      file,
      "--http",
      `:${port}`,
      "--node-id",
      "n",
      "--health-cmd",
      "true",
    ];
    const command = [
      "sh",
      "-c",
      `echo ran; test -e ${join(directory, "stay")} && exec sleep 100; touch ${join(directory, "stay")}`,
    ];
    const args = [BIN, "run", "again", "--server", server, "--ttl", "5s", ...options, "--", ...command];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    while (stdout !== "ran\nran\n") await sleep(systemClock, 20);
    expect(readFileSync(file, "utf8")).toBe("1\n");
    const status = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as object;
    expect(status).toEqual({ name: "n", is_leader: true, term: 1 });
    child.kill("SIGTERM");
    await once(child, "exit");
    expect(child.exitCode).toBe(143);
    expect(existsSync(file)).toBe(false);
    expect(await leaderOf("again")).toBe(undefined);
  });

  it("tenure run does not lead while its health command fails, and exits after a loss with --after-loss exit", async () => {
    const sick = join(directory, "sick");
    const options = ["--health-cmd", `! test -e ${sick}`, "--after-loss", "exit"];
    const { code, stderr } = await run("ill", options, "sh", "-c", `touch ${sick}; sleep 100`);
    expect({ code, last: stderr.trim().split("\n").at(-1) }).toEqual({
      code: 3,
      last: "tenure: this node does not lead ill; exit code 3",
    });
  });

  it.each([
    [["--http", "nowhere"], "Use [HOST]:PORT"],
    [["--stop-signal", "SIGNONE"], "Use a signal name"],
    [["--after-loss", "cry"], "Allowed choices are wait, exit"],
    [["--ttl", "5"], "Use a number with a unit"],
  ])("tenure run refuses %j", async (options, sentence) => {
    const { code, stderr } = await run("wrong", options, "true");
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
  });
});
