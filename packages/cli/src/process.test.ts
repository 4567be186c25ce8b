/** The command as a process: exit codes, where it writes, and that it never shows a stack trace. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@tenure/engines";
import type { Command } from "commander";
import { afterAll, describe, expect, it } from "vitest";
import { command } from "./frame/command.test-kit.js";
import { Shell } from "./frame/shell.js";
import { wholeProgram } from "./program.js";
import { RestartedServer } from "./restarted-server.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const BIN = fileURLToPath(new URL("../bin/tenure.js", import.meta.url));
const scratch = new Scratch();
afterAll(() => scratch.close());

const write = { write: () => {} };
const whole = await wholeProgram(
  new Shell({ out: write, err: write, env: {}, signal: new AbortController().signal }),
);

function commands(): Command[] {
  const below = (one: Command): Command[] => [one, ...one.commands.flatMap(below)];
  return below(whole);
}

function pathOf(one: Command): string[] {
  return one.parent === null ? [] : [...pathOf(one.parent), one.name()];
}

describe("exit codes and errors of a command", () => {
  it("a command exits with 4 and the next step if no server answers", async () => {
    const [port] = await freePorts(1);
    for (const args of [["leader", "g"], ["watch"], ["top"], ["campaign", "g", "--node-id", "a"]]) {
      const { code, stdout, stderr } = await command([...args, "--server", `http://127.0.0.1:${port}`]);
      expect(stderr).toMatch(
        /^tenure: no server of the service answered \(.*ECONNREFUSED.*\); check that it runs[^\n]*\n$/,
      );
      expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    }
  });

  it("a command with --json reports its error as JSON", async () => {
    const [port] = await freePorts(1);
    const { code, stderr } = await scratch.run([
      "leader",
      "g",
      "--json",
      "--server",
      `http://127.0.0.1:${port}`,
    ]);
    expect(code).toBe(4);
    expect(JSON.parse(stderr)).toMatchObject({ ok: false, error: "BACKEND_UNAVAILABLE" });
  });

  it.each([
    ["no such command", ["lead"], "unknown command 'lead'"],
    ["no group", ["leader"], "missing required argument 'group'"],
    ["no term", ["renew", "g"], "required option '--term <n>' not specified"],
    ["a duration without a unit", ["campaign", "g", "--ttl", "5"], "Use a number with a unit"],
    [
      "a choice that there is not",
      ["groups", "create", "g", "--strategy", "random"],
      "Allowed choices are first, priority",
    ],
    [
      "both a server and a store",
      ["leader", "g", "--server", "http://a", "--store", "memory:"],
      "--store cannot be combined with --server",
    ],
    ["a server that is no URL", ["leader", "g", "--server", "ftp://a"], "--server is"],
    [
      "a certificate without its key",
      ["leader", "g", "--server", "https://a", "--cert", "x"],
      "--key is missing",
    ],
    ["a store that there is not", ["leader", "g", "--store", "redis:"], "--store must begin with"],
    [
      "a bench beyond its bounds",
      ["bench", "--rate", "100000"],
      "--rate must be a whole number from 1 to 5000",
    ],
    ["a shell that there is not", ["completion", "tcsh"], "Allowed choices are bash, zsh, fish, powershell"],
  ])("a command exits with 2 and one sentence: %s", async (_case, args, sentence) => {
    const { code, stdout, stderr } = await command(args);
    expect(stderr).toMatch(/^tenure: [^\n]+\n(?:\(Did you mean [^\n]+\)\n)?$/);
    expect(stderr).toContain(sentence);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  it("a process exits with 2 for wrong use, and with 1 if the server refuses its credentials", async () => {
    expect(await scratch.run(["leader"])).toEqual({
      code: 2,
      stdout: "",
      stderr: "tenure: missing required argument 'group'\n",
    });
    const tokenFile = join(scratch.directory(), "token");
    writeFileSync(tokenFile, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
    const server = await scratch.serve([
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--admin-token-file",
      tokenFile,
      "--log-level",
      "error",
    ]);
    const refused = await command(["leader", "g", "--server", server.url]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toBe(
      "tenure: the server requires authentication; name a token with --token-file, or a certificate with --cert and --key\n",
    );
    const admitted = await scratch.run(["leader", "g", "--server", server.url, "--token-file", tokenFile]);
    expect(admitted).toMatchObject({ code: 3, stderr: "" });
  });
});

it("wrong use is reported as JSON with --json, and arguments after -- do not count", async () => {
  const { code, stderr } = await command(["leader", "--json"]);
  expect([code, JSON.parse(stderr)]).toEqual([
    2,
    { ok: false, error: "INVALID_REQUEST", message: "missing required argument 'group'" },
  ]);
  expect((await command(["run", "g", "--ttl", "5", "--", "x", "--json"])).stderr).toMatch(/^tenure: /);
});

it("every command that prints a result accepts --json", () => {
  const without = commands()
    .filter((one) => one.commands.length === 0)
    .filter((one) => !one.options.some(({ long }) => long === "--json"))
    .map((one) => pathOf(one).join(" "));
  expect(without).toEqual(["serve", "completion"]);
});

describe("the help texts", () => {
  it.each(commands().map((one) => [pathOf(one).join(" ") || "tenure", one] as const))(
    "the help of %s has examples",
    async (_name, one) => {
      const args = [...pathOf(one), "--help"];
      const { code, stdout: text } = await command(args);
      expect(text).toMatch(/^Usage: tenure/);
      expect(text).toMatch(/^Examples:\n( {2}\$ .*tenure .*\n?)+/m);
      expect(code).toBe(0);
    },
  );
});

it("TENURE_SERVER names the server of a process without other options", async () => {
  const server = await scratch.memoryServer();
  const { code, stdout } = await scratch.run(["campaign", "g", "--node-id", "a"], {
    TENURE_SERVER: server.url,
  });
  expect(code).toBe(0);
  expect(stdout).not.toContain("\u001B");
});

it("a watch ends silently when its output is closed", async () => {
  const server = await scratch.memoryServer();
  for (const group of ["a", "b"])
    await command(["campaign", group, "--node-id", "n", "--server", server.url]);
  const watching = spawn(process.execPath, [BIN, "watch", "--server", server.url], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaints = "";
  watching.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  await once(watching.stdout, "data");
  watching.stdout.destroy();
  const ended = once(watching, "exit");
  // The next line has no reader.
  await command(["campaign", "c", "--node-id", "n", "--server", server.url]);
  expect(await ended).toEqual([0, null]);
  expect(complaints).toBe("");
});

it("a watch continues across a restart of its server, with every event once", async () => {
  const server = await RestartedServer.start(scratch, scratch.directory());
  const url = ["--server", `http://127.0.0.1:${server.port}`];
  const user = new AbortController();
  const terms = (stdout: string): number[] =>
    stdout
      .split("\n")
      .filter((line) => line.includes("LEADER_CHANGED"))
      .map((line) => (JSON.parse(line) as { term: number }).term);
  const awaited = new Map<number, () => void>();
  const saw = (term: number): Promise<void> => new Promise((resolve) => void awaited.set(term, resolve));
  const watching = command(["watch", "g", "--json", ...url], {
    signal: user.signal,
    onOutput: (stdout) => {
      for (const term of terms(stdout)) awaited.get(term)?.();
    },
  });
  const turn = async (term: number): Promise<void> => {
    const won = await command(["campaign", "g", "--node-id", "a", ...url]);
    expect(won).toMatchObject({ code: 0 });
    await command(["resign", "g", "--node-id", "a", "--term", String(term), ...url]);
  };
  const before = saw(2);
  const after = saw(4);
  await turn(1);
  await turn(2);
  await before;
  await server.killAndRestart();
  await turn(3);
  await turn(4);
  await after;
  user.abort(new Error("enough"));
  const { code, stdout } = await watching;
  expect(code).toBe(0);
  const cursors = stdout
    .trimEnd()
    .split("\n")
    .map((line) => Number((JSON.parse(line) as { cursor: string }).cursor));
  expect(cursors).toEqual(Array.from(cursors, (_, index) => (cursors[0] ?? 0) + index));
  expect(stdout).not.toContain("RESYNC");
});
