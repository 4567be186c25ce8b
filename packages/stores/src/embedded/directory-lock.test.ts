/** One owner at a time, whatever happened to the last one. */
import { existsSync, renameSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { BackendUnavailableError } from "@tenure/core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";
import { Child } from "./fixtures/child.test.helper.js";

let root = "";
let directory = "";
let count = 0;
const children: Child[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-lock-"));
});
beforeEach(() => {
  directory = join(root, `case-${count++}`);
});
afterEach(async () => {
  for (const child of children.splice(0)) await child.destroy();
});
afterAll(() => rm(root, { recursive: true, force: true }));

interface Said {
  readonly opened?: boolean;
  readonly revision?: number;
  readonly code?: string;
  readonly message?: string;
}

function start(...args: readonly string[]): Child {
  const child = new Child("holder.mjs", [directory, ...args]);
  children.push(child);
  return child;
}

async function said(child: Child): Promise<Said> {
  return JSON.parse((await child.line()) ?? "{}") as Said;
}

test("a directory is opened once within a process, by whatever name", async () => {
  const store = await EmbeddedStore.open({ directory });
  symlinkSync(directory, `${directory}-alias`);
  for (const name of [directory, `${directory}/.`, `${directory}-alias`]) {
    await expect(EmbeddedStore.open({ directory: name })).rejects.toThrow(
      /in use by this very process; stop it/,
    );
  }
  await store.close();
  await (await EmbeddedStore.open({ directory: `${directory}-alias` })).close();
});

test("one of two concurrent openings within a process succeeds", async () => {
  const results = await Promise.allSettled([1, 2, 3].map(() => EmbeddedStore.open({ directory })));
  const opened = results.filter((result) => result.status === "fulfilled");
  expect(opened).toHaveLength(1);
  for (const { value } of opened) await value.close();
});

test("another thread of the process cannot open the directory either", async () => {
  const store = await EmbeddedStore.open({ directory });
  const code = `
    const { parentPort, workerData } = require("node:worker_threads");
    import(workerData.module)
      .then(({ EmbeddedStore }) => EmbeddedStore.open({ directory: workerData.directory }))
      .then(() => parentPort.postMessage("opened"), (error) => parentPort.postMessage(error.message));`;
  const module = new URL("../../dist/embedded/index.js", import.meta.url).href;
  const worker = new Worker(code, { eval: true, workerData: { module, directory } });
  const message: unknown = await new Promise((resolve, reject) =>
    worker.once("message", resolve).once("error", reject),
  );
  await worker.terminate();
  expect(message).toMatch(/in use by this very process/);
  await store.close();
});

test("another process gets the holder of the directory and what to do, and opens it when the holder closes", async () => {
  const holder = start();
  expect(await said(holder)).toMatchObject({ opened: true });
  const error: unknown = await EmbeddedStore.open({ directory }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BackendUnavailableError);
  expect((error as Error).message).toBe(
    `directory ${directory} is in use by process ${holder.pid}; stop it first, use another directory, or connect to the server that uses this one (--server http://HOST:PORT)`,
  );
  expect((await holder.stop()).code).toBe(0);
  await (await EmbeddedStore.open({ directory })).close();
});

test("a holder killed during its writes leaves no lock", async () => {
  for (let round = 0; round < 3; round++) {
    const holder = start("write");
    expect(await said(holder)).toMatchObject({ opened: true });
    holder.signal("SIGKILL");
    await holder.ended;
    await (await EmbeddedStore.open({ directory })).close();
  }
});

test("a holder that writes, or was stopped in the middle of a write, is detected without hanging", async () => {
  const holder = start("write");
  expect(await said(holder)).toMatchObject({ opened: true });
  for (let round = 0; round < 50; round++) {
    if (round % 5 === 4) holder.signal("SIGSTOP");
    await expect(EmbeddedStore.open({ directory })).rejects.toThrow(`in use by process ${holder.pid}`);
    holder.signal("SIGCONT");
  }
});

test("a failed attempt to open a directory does not affect its holder", async () => {
  const holder = start("write");
  expect(await said(holder)).toMatchObject({ opened: true });
  const intruders = Array.from({ length: 2 }, () => new Child("racer.mjs", [directory]));
  children.push(...intruders);
  for (const intruder of intruders) intruder.tell("try");
  for (const intruder of intruders) expect(await said(intruder)).toEqual({ code: "BACKEND_UNAVAILABLE" });
  const ending = holder.stop();
  const { written } = (await said(holder)) as { written?: number };
  expect(written).toBeGreaterThan(0);
  expect((await ending).code).toBe(0);
  const store = await EmbeddedStore.open({ directory });
  expect(await store.sync()).toBe(written);
  await store.close();
});

test("a failed attempt to open a directory does not touch LMDB's files", async () => {
  const holder = start();
  expect(await said(holder)).toMatchObject({ opened: true });
  // The holder has the file open; any other process would have to create it again.
  const lockFile = join(directory, "lock.mdb");
  renameSync(lockFile, `${lockFile}.aside`);
  await expect(EmbeddedStore.open({ directory })).rejects.toThrow(`in use by process ${holder.pid}`);
  expect(existsSync(lockFile)).toBe(false);
});

test("one of several processes that start at the same moment opens the directory, and can write", async () => {
  const racers = Array.from({ length: 3 }, () => new Child("racer.mjs", [directory]));
  children.push(...racers);
  for (let round = 0; round < 100; round++) {
    for (const racer of racers) racer.tell("open");
    const answers = await Promise.all(racers.map(said));
    const winners = racers.filter((_, i) => answers[i]?.opened === true);
    expect(winners, `round ${round}: ${JSON.stringify(answers)}`).toHaveLength(1);
    for (const { opened, code, message } of answers) {
      if (opened === true) continue;
      expect(code).toBe("BACKEND_UNAVAILABLE");
      expect(message).toContain(`${directory} is in use by`);
    }
    winners[0]?.tell("close");
    expect(await said(winners[0]!)).toEqual({ kind: "swapped" });
  }
});

test("an owner whose directory was taken past the lock answers nothing and writes nothing", async () => {
  const store = await EmbeddedStore.open({ directory });
  const created = await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
  expect(created[0]).toEqual({ kind: "swapped", revision: 1 });
  const feed = store.feed()[Symbol.asyncIterator]();
  await feed.next();
  const rogue = new Child("rogue.mjs", [directory]);
  children.push(rogue);
  expect((await rogue.ended).code).toBe(0);
  // The write comes first: it must fail by itself, not because of a check before it.
  const write = store.compareAndSet([{ key: "r/a", expected: 1, value: "2" }]);
  await expect(write).rejects.toBeInstanceOf(BackendUnavailableError);
  await expect(feed.next()).rejects.toBeInstanceOf(BackendUnavailableError);
  await store.close();
  const again = await EmbeddedStore.open({ directory });
  expect(await again.compareAndSet([{ key: "r/a", expected: null, value: "3" }])).toEqual([
    { kind: "conflict", current: { key: "r/a", value: "1", revision: 1 } },
  ]);
  await again.close();
});

test("an owner whose directory was taken past the lock does not answer from memory, and recovers", async () => {
  const store = await EmbeddedStore.open({ directory });
  await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
  const rogue = new Child("rogue.mjs", [directory]);
  children.push(rogue);
  expect((await rogue.ended).code).toBe(0);
  await expect(store.sync()).rejects.toBeInstanceOf(BackendUnavailableError);
  // The rogue process is gone: a later call finds the directory free and opens it again.
  let revision: number | null = null;
  while (revision === null) {
    revision = await store.sync().catch(() => null);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(revision).toBe(1);
  await store.close();
});
