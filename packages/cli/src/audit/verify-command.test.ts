/** `tenure audit verify` on files that real servers wrote. */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";

const LIMIT_MS = 15_000;

let scratch: Scratch;
let file: string;
beforeEach(() => {
  scratch = new Scratch();
  file = join(scratch.directory(), "audit.log");
});
afterEach(() => scratch.close());

function serve(...more: readonly string[]): Promise<ServerProcess> {
  return scratch.serve(["--listen", "127.0.0.1:0", "--store", "memory:", "--audit-log", file, ...more]);
}

/** Each act of an operator is a line. */
async function create(server: ServerProcess, ...groups: readonly string[]): Promise<void> {
  for (const group_id of groups) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ group_id });
    expect((await fetch(`${server.url}/v1/groups`, { method: "POST", headers, body })).status).toBe(201);
  }
}

const verify = (...args: readonly string[]) => scratch.run(["audit", "verify", ...args]);

it("audit verify accepts the files of a server that was killed, restarted and rotated", async () => {
  const first = await serve();
  await create(first, "a", "b");
  await first.end("SIGKILL");
  // As if the kill had cut off a write.
  appendFileSync(file, '{"level":30,"ti');

  const second = await serve();
  expect(second.stderr).toContain("ended within a line; the hash chain continues after it");
  await create(second, "c");
  renameSync(file, `${file}.1`);
  process.kill(second.pid, "SIGHUP");
  await until(
    LIMIT_MS,
    "a new audit file",
    async () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"),
  );
  await create(second, "d");
  expect(await second.end("SIGTERM")).toBe(0);

  const [older, newer] = [`${file}.1`, file];
  const { code, stdout } = await verify(older, newer);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^note: \S+\.1:3: a crash cut this line off; .*\nok: 6 lines are intact \(seq 1 to 6\), head [0-9a-f]{64}\n$/,
    ) as string,
  ]);
  const json = await verify("--json", older, newer);
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: true,
    lines: 6,
    first_seq: 1,
    last_seq: 6,
    problem: null,
  });
  expect(await verify(newer)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("note: the first line has seq 5") as string,
  });
  expect(await verify(newer, older)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(".1:1: a new chain begins here, after seq 6") as string,
  });
});

it("audit verify names the first line that does not fit, and fails", async () => {
  const server = await serve();
  await create(server, "a", "b", "c");
  await server.end("SIGTERM");
  const text = readFileSync(file, "utf8");
  const lines = text.trimEnd().split("\n");
  const { hash: head } = JSON.parse(lines[2] ?? "") as { readonly hash: string };

  writeFileSync(file, text.replace('"group_id":"b"', '"group_id":"x"'));
  expect(await verify(file)).toMatchObject({
    code: 1,
    stdout: `broken: ${file}:2: the content of the line does not have the hash that the line says (intact up to seq 1)\n`,
  });
  writeFileSync(file, `${lines[0]}\n${lines[2]}\n`);
  expect(JSON.parse((await verify("--json", file)).stdout)).toMatchObject({
    ok: false,
    problem: { kind: "missing", line: 2, message: "the line with seq 2 is missing before this line" },
  });
  writeFileSync(file, `${lines[0]}\n${lines[1]}\n`);
  expect((await verify(file)).code).toBe(0);
  expect(await verify(file, "--head", head)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`no line has the hash ${head}`) as string,
  });
});

it("audit verify refuses a file that does not exist and a head that is no hash", async () => {
  expect(await verify(file)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/cannot be read: ENOENT/) as string,
  });
  expect(await verify(file, "--head", "abc")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--head is "abc" and must be the 64 hexadecimal digits') as string,
  });
});

it("a server logs the head of its audit log, so that another system can keep it", async () => {
  const server = await serve("--audit-head-interval", "3600");
  await create(server, "a");
  await server.end("SIGTERM");
  const { seq, hash } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly seq: number;
    readonly hash: string;
  };
  const heads = server.stderr.split("\n").filter((line) => line.includes('"event":"audit-head"'));
  expect(heads.map((line) => JSON.parse(line) as object)).toMatchObject([{ file, seq, hash }]);
});
