/** The completions, sourced by the shells they are for. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePorts, isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { TmuxScreen } from "../top/tmux.test-kit.js";

const run = promisify(execFile);
const BIN = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));
const scratch = new Scratch();
let directory: string;
/** The environment of a user: `tenure` is in the path, and a server is set. */
let environment: Record<string, string>;
beforeAll(async () => {
  directory = scratch.directory();
  const server = await scratch.memoryServer();
  const bin = join(directory, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "tenure"), `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`, { mode: 0o755 });
  environment = { PATH: `${bin}:${process.env["PATH"]}`, HOME: directory, TENURE_SERVER: server.url };
  for (const group of ["billing", "billing/eu", "shop"]) {
    await command(["groups", "create", group, "--max-ttl", "1h", "--server", server.url]);
    await command(["campaign", group, "--node-id", "worker-1", "--ttl", "1h", "--server", server.url]);
  }
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const { code, stdout } = await command(["completion", shell]);
    expect(code).toBe(0);
    writeFileSync(join(directory, shell), stdout);
  }
  writeFileSync(join(directory, "ca.pem"), "");
});
afterAll(() => scratch.close());

/** The typed line, words that must be offered, and words that must not. */
const CASES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["tenure ca", ["campaign"], ["leader"]],
  ["tenure groups ", ["list", "create", "delete"], ["campaign"]],
  ["tenure groups create g --st", ["--strategy", "--store"], ["--json"]],
  ["tenure groups create --strategy ", ["first", "priority"], ["--json"]],
  ["tenure leader --server list --lo", ["--local"], ["--interval"]],
  ["tenure completion ", ["bash", "zsh", "fish", "powershell"], ["campaign"]],
  ["tenure leader bill", ["billing", "billing/eu"], ["shop"]],
  ["tenure groups show s", ["shop"], ["billing"]],
  ["tenure transfer billing wo", ["worker-1"], ["billing"]],
];

describe("bash completion", () => {
  const complete = async (line: string): Promise<string[]> => {
    const words = line.split(" ");
    const script = `source ${join(directory, "bash")}; cd ${directory}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenure; printf '%s\\n' "\${COMPREPLY[@]}"; complete -p tenure`;
    const { stdout, stderr } = await run("bash", ["--norc", "--noprofile", "-uc", script, "bash", ...words], {
      env: environment,
    });
    expect(stderr).toBe("");
    expect(stdout).toContain("complete -F _tenure tenure");
    return stdout.trimEnd().split("\n").slice(0, -1);
  };

  it.each(CASES)("bash completes: %s", async (line, offered, others) => {
    const words = await complete(line);
    expect(words).toEqual(expect.arrayContaining([...offered]));
    for (const other of others) expect(words).not.toContain(other);
  });

  it("bash does not take the value of an option for a command", async () => {
    expect(await complete("tenure groups --prefix show cr")).toEqual(["create"]);
  });

  it("bash offers files after an option that takes one, and nothing after an option with free values", async () => {
    expect(await complete("tenure leader --ca ca.")).toEqual(["ca.pem"]);
    expect(await complete("tenure leader --server ")).toEqual([""]);
  });
});

describe.skipIf(isMissing("fish"))("fish completion", () => {
  it.each(CASES)("fish completes: %s", async (line, offered, others) => {
    const script = `source ${join(directory, "fish")}; complete -C ${JSON.stringify(line)}`;
    const { stdout } = await run("fish", ["--no-config", "-c", script], { env: environment });
    const words = stdout
      .trimEnd()
      .split("\n")
      .map((each) => each.split("\t")[0]);
    expect(words).toEqual(expect.arrayContaining([...offered]));
    for (const other of others) expect(words).not.toContain(other);
  });
});

describe.skipIf(isMissing("zsh") || isMissing("tmux"))("zsh completion", () => {
  it("zsh offers the same words as bash and fish, each with its description", async () => {
    await using screen = await TmuxScreen.start(
      `cd ${directory} && PATH=${environment["PATH"]} TENURE_SERVER=${environment["TENURE_SERVER"]} PS1='zsh> ' zsh -f`,
      160,
      50,
    );
    await screen.until(/^zsh> *$/m);
    await screen.type(
      "autoload -Uz compinit; compinit -u -D; source ./zsh; bindkey '^X' list-choices; clear\n",
    );
    for (const [line, offered, others] of CASES) {
      await screen.until(/^zsh> *$/);
      await screen.type(line);
      await screen.key("C-x");
      const lines = await screen.until(new RegExp(`^${offered[0]}\\b`, "m"));
      // The typed line may already hold such a word.
      const listed = lines.filter((each) => !each.startsWith("zsh>")).join("\n");
      for (const word of offered) expect(listed).toMatch(new RegExp(`(^|\\s)${word}\\b`, "m"));
      for (const other of others) expect(listed).not.toMatch(new RegExp(`(^|\\s)${other}\\b`, "m"));
      await screen.key("C-u");
      await screen.type("clear\n");
    }
  });
});

describe("tenure complete", () => {
  it("complete prints ids, and nothing if no server answers", async () => {
    const env = environment;
    expect((await command(["complete", "groups", "bill"], { env })).stdout).toBe("billing\nbilling/eu\n");
    expect((await command(["complete", "nodes", "", "shop"], { env })).stdout).toBe("worker-1\n");
    const [port] = await freePorts(1);
    const silent = await command(["complete", "groups"], { env: { TENURE_SERVER: `127.0.0.1:${port}` } });
    expect(silent).toEqual({ code: 1, stdout: "", stderr: "" });
  });

  it("the script for PowerShell names the ids that each command takes, with balanced quotes and braces", async () => {
    const script = (await command(["completion", "powershell"])).stdout;
    expect(script).toContain("'/leader' = @('groups')");
    expect(script).toContain("'/transfer' = @('groups', 'nodes')");
    expect(script).toContain("Register-ArgumentCompleter -Native -CommandName tenure");
    const code = script.replaceAll(/'(?:[^']|'')*'|"[^"]*"|#.*$/gm, "");
    for (const [open, close] of ["{}", "()", "[]"]) {
      expect(code.split(open ?? "").length).toBe(code.split(close ?? "").length);
    }
  });
});
