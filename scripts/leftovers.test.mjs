import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeRunDirectory, removeRunDirectory } from "./leftovers.mjs";

it("a run that leaves nothing has an empty list, and its directory is removed", async () => {
  const directory = makeRunDirectory();
  expect(await removeRunDirectory(directory)).toEqual([]);
  expect(existsSync(directory)).toBe(false);
});

it.skipIf(process.platform !== "linux")(
  "a process and files that a run leaves are named, ended and removed",
  async () => {
    const directory = makeRunDirectory();
    writeFileSync(join(directory, "file"), "");
    mkdirSync(join(directory, "tenure-cli-x"));
    const left = spawn("sleep", ["600"], { env: { ...process.env, TMPDIR: directory } });
    await once(left, "spawn");
    const ended = once(left, "exit");
    expect(await removeRunDirectory(directory, 0)).toEqual([
      `process ${left.pid}: sleep 600`,
      `file ${join(directory, "file")}`,
      `file ${join(directory, "tenure-cli-x")}`,
    ]);
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(existsSync(directory)).toBe(false);
  },
);

it.skipIf(process.platform !== "linux")("a process that is about to end is waited for", async () => {
  const directory = makeRunDirectory();
  const ending = spawn("sleep", ["0.3"], { env: { ...process.env, TMPDIR: directory } });
  await once(ending, "spawn");
  expect(await removeRunDirectory(directory)).toEqual([]);
  expect(ending.signalCode).toBeNull();
});
