/** Children that run outside this thread: asked to end, killed, and seen to crash. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type ChildSpec,
  processChild,
  type RunningChild,
  STOP_MESSAGE,
  workerChild,
} from "@tenure/coordinator";
import { afterAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";

const scratch = new Scratch();
const directory = scratch.directory();
afterAll(() => scratch.close());

const LEASE = { leftMs: () => 60_000 };

async function begin(spec: ChildSpec): Promise<RunningChild> {
  return spec.start({ term: 7, signal: new AbortController().signal, lease: LEASE });
}

function module(name: string, text: string): URL {
  const file = join(directory, `${name}.mjs`);
  writeFileSync(file, `import { parentPort, workerData } from "node:worker_threads";\n${text}\n`);
  return pathToFileURL(file);
}

describe("a worker thread as a child", () => {
  it("a worker thread knows its term, and ends when asked to", async () => {
    const heed = `parentPort.on("message", (m) => { if (m === "${STOP_MESSAGE}") process.exit(workerData.term - 7); });`;
    const child = await begin(workerChild("heeding", module("heeding", heed)));
    child.stop?.();
    await expect(child.ended).resolves.toBe(undefined);
  });

  it("a worker thread that does not end is terminated", async () => {
    const child = await begin(workerChild("deaf", module("deaf", "for (;;);")));
    child.stop?.();
    child.kill?.();
    await expect(child.ended).resolves.toBe(undefined);
  });

  it("a worker thread that throws has crashed, with its reason", async () => {
    const child = await begin(
      workerChild("broken", module("broken", 'setImmediate(() => { throw new Error("no port"); });')),
    );
    await expect(child.ended).rejects.toMatchObject({ cause: { message: "no port" } });
  });
});

describe("a process as a child", () => {
  const sh = (text: string) => processChild("child", "/bin/sh", { args: ["-c", text], stdio: "ignore" });

  it("a process ends when asked to", async () => {
    const child = await begin(sh("exec sleep 1000"));
    child.stop?.();
    await expect(child.ended).resolves.toBe(undefined);
  });

  it("a process that does not end is killed", async () => {
    const child = await begin(sh("trap '' TERM; while :; do sleep 1000; done"));
    child.stop?.();
    child.kill?.();
    await expect(child.ended).resolves.toBe(undefined);
  });

  it("a process that exits with a code other than 0 has crashed, and with 0 it has not", async () => {
    await expect((await begin(sh("exit 3"))).ended).rejects.toThrow("child ended with exit code 3");
    await expect((await begin(sh("exit $((TENURE_TERM - 7))"))).ended).resolves.toBe(undefined);
  });
});
