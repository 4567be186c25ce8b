/** What the README of the repository shows is run here, word for word, against a real service. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Scratch } from "./scratch.test-kit.js";
import type { ServerProcess } from "./server-process.test-kit.js";

const readme = readFileSync(new URL("../../../README.md", import.meta.url), "utf8");
const page = readFileSync(new URL("../../../docs/COMMAND.md", import.meta.url), "utf8");

describe("the README", () => {
  const scratch = new Scratch();
  let server: ServerProcess;
  beforeAll(async () => {
    scratch.directory();
    server = await scratch.serve(["--listen", "127.0.0.1:0", "--log-format", "text"]);
  });
  afterAll(() => scratch.close());

  /** What curl does, which not every machine has. */
  async function curl(line: string): Promise<unknown> {
    const [, path, header, body] = /^curl -s localhost:7420(\S+)(?: -H (\S+) -d '(.*)')?$/.exec(line) ?? [];
    const [name = "accept", value = "*/*"] = header?.split(":") ?? [];
    const headers = { [name]: value };
    const answer = await fetch(`${server.url}${path}`, {
      headers,
      ...(body === undefined ? {} : { method: "POST", body }),
    });
    return answer.json();
  }

  it("the README shows what the server prints at its start", () => {
    const [, shown = ""] = /^```text\n(Dashboard: [^`]*)```$/m.exec(readme) ?? [];
    const printed = `${server.stderr}${server.stdout}`
      .replaceAll(`:${server.port}`, ":7420")
      .replace(/ in \S+\/tenure-data$/m, " in …/tenure-data");
    expect(printed).toBe(shown);
  });

  it("the README shows a first election in three lines", async () => {
    const lines = readme.split("\n").filter((line) => line.startsWith("curl -s "));
    const answers: unknown[] = [];
    for (const line of lines) answers.push(await curl(line));
    const leader = { node_id: "a", term: 1 };
    expect(answers).toMatchObject([
      { is_leader: true, leader },
      { is_leader: false, leader, retry_after_ms: expect.any(Number) as number },
      { leader },
    ]);
  });

  it("the README shows how a command is run while its node leads", async () => {
    const [, line = ""] = /^tenure (run .* --) python3 scheduler.py$/m.exec(readme) ?? [];
    const words = line.replace("'pg_isready -q'", "true").split(" ");
    const command = ["sh", "-c", "echo $TENURE_GROUP $TENURE_TERM"];
    const ended = await scratch.run([...words, ...command], { TENURE_SERVER: server.url });
    expect(ended).toMatchObject({ code: 0, stdout: "reports 1\n" });
  });

  it("the documentation names every command, and every option of tenure run", async () => {
    const { stdout: commands } = await scratch.run(["--help"]);
    const { stdout: run } = await scratch.run(["run", "--help"]);
    const names = [...commands.matchAll(/^ {2}([a-z-]{2,}) /gm)].map(([, name = ""]) => name);
    const options = [...run.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name = ""]) => name);
    expect([names.length, options.length].every((count) => count > 15)).toBe(true);
    const told = [...names.filter((name) => name !== "help"), ...options];
    const shown = new Set([...page.matchAll(/`([^`\n]+)`/g)].flatMap(([, code = ""]) => code.split(" ")));
    expect(told.filter((name) => !shown.has(name))).toEqual([]);
  });
});
