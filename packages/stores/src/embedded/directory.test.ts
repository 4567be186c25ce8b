/** Which directories an embedded store accepts, and what it reports about others. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { open } from "lmdb";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";
import { Child } from "./fixtures/child.test.helper.js";

let root = "";
let original = "";
let directory = "";
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-directory-"));
  original = join(root, "original");
  const store = await EmbeddedStore.open({ directory: original });
  const keys = Array.from({ length: 600 }, (_, i) => `r/group-${i}`);
  const batch = keys.map((key, i) => ({ key, expected: null, value: "x".repeat(i % 50 === 0 ? 9000 : 100) }));
  const outcomes = await store.compareAndSet(batch);
  // Rewritten in parts, so that there are free pages too.
  for (let part = 0; part < 20; part++) {
    await store.compareAndSet(
      keys.slice(part * 30, part * 30 + 30).map((key, i) => {
        const outcome = outcomes[part * 30 + i];
        return {
          key,
          expected: outcome?.kind === "swapped" ? outcome.revision : null,
          value: `${part} ${key}`,
        };
      }),
    );
  }
  await store.close();
});
beforeEach(() => {
  directory = join(root, `case-${count++}`);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const copyOriginal = () => cpSync(original, directory, { recursive: true });
const fileIn = (name: string) => join(directory, name);

/** Names and contents of all files except LMDB's lock file, which holds no data. */
function contents(): Record<string, string> {
  const names = readdirSync(directory).filter((name) => !/^(?:lock\.mdb|owner\.mdb.*)$/.test(name));
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(fileIn(name)))
      .digest("hex");
  return Object.fromEntries(names.map((name) => [name, hash(name)]));
}

/**
 * In its own process, because damage could end it. Checks that the store was refused in one sentence and left
 * unchanged.
 */
async function refusalOf(path: string): Promise<{ code: string; field?: string; message: string }> {
  const child = new Child("holder.mjs", [path]);
  try {
    const line = await child.line();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    const said = JSON.parse(line ?? "null") as { code: string; field?: string; message: string };
    expect(said.message).toContain(path);
    expect(said.message).not.toContain("\n");
    return said;
  } finally {
    await child.destroy();
  }
}

async function expectRefused(message: RegExp): Promise<void> {
  const before = contents();
  const said = await refusalOf(directory);
  expect(said).toMatchObject({ code: "INVALID_REQUEST", field: "directory" });
  expect(said.message).toMatch(message);
  expect(contents()).toEqual(before);
}

describe("a new directory", () => {
  test("a new directory is created with its parents, for its owner only", async () => {
    const store = await EmbeddedStore.open({ directory: fileIn("a/b") });
    for (const made of [directory, fileIn("a"), fileIn("a/b")])
      expect(statSync(made).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(fileIn("a/b")))
      expect(statSync(fileIn(`a/b/${name}`)).mode & 0o777).toBe(0o600);
    expect(readdirSync(fileIn("a/b")).toSorted()).toEqual([
      "data.mdb",
      "lock.mdb",
      "owner.mdb",
      "owner.mdb-lock",
      "tenure.json",
    ]);
    await store.close();
  });

  test.each([[""], ["\0"], [7 as unknown as string]])(
    "a directory given as %j is refused because it is not a path",
    async (path) => {
      await expect(EmbeddedStore.open({ directory: path })).rejects.toThrow(InvalidRequestError);
    },
  );

  test("a new directory may be a fresh volume, or one whose first start was interrupted", async () => {
    mkdirSync(fileIn("lost+found"), { recursive: true });
    writeFileSync(fileIn("data.mdb"), "");
    writeFileSync(fileIn("tenure.json.new"), '{"wh');
    await (await EmbeddedStore.open({ directory })).close();
    // Every step except the last.
    rmSync(fileIn("tenure.json"));
    await (await EmbeddedStore.open({ directory })).close();
    expect(readdirSync(directory)).toContain("tenure.json");
  });

  test("a new directory may contain an LMDB file that was only just created", async () => {
    const table = open({ path: directory, useVersions: true, overlappingSync: false });
    await table.close();
    const store = await EmbeddedStore.open({ directory });
    expect(await store.sync()).toBe(0);
    await store.close();
  });
});

describe("directories of others", () => {
  test("a path that is a file is refused and left unchanged", async () => {
    mkdirSync(directory);
    writeFileSync(fileIn("file"), "text");
    expect((await refusalOf(fileIn("file"))).message).toMatch(/is a file/);
    expect((await refusalOf(fileIn("file/below"))).message).toMatch(/below a file/);
    expect(readFileSync(fileIn("file"), "utf8")).toBe("text");
  });

  test("a directory with other files is refused and left unchanged", async () => {
    mkdirSync(directory);
    writeFileSync(fileIn("notes.txt"), "mine");
    await expectRefused(/holds notes\.txt and is no Tenure store/);
  });

  test("a directory whose data.mdb is not an LMDB file is refused and left unchanged", async () => {
    mkdirSync(directory);
    writeFileSync(fileIn("data.mdb"), "x".repeat(20_000));
    await expectRefused(/is damaged, or was written by another program/);
  });

  test("the LMDB of another program is refused and left unchanged", async () => {
    const table = open({ path: directory });
    await table.put("their key", "their value");
    await table.close();
    await expectRefused(/another program/);
  });

  test("the LMDB of another program with named databases is refused and left unchanged", async () => {
    const table = open({ path: directory });
    await table.openDB("users", {}).put("their key", "their value");
    await table.close();
    await expectRefused(/data\.mdb/);
  });

  test("an LMDB of another data version is refused and left unchanged", async () => {
    copyOriginal();
    const bytes = readFileSync(fileIn("data.mdb"));
    bytes.writeUInt32LE(1, 28);
    writeFileSync(fileIn("data.mdb"), bytes);
    await expectRefused(/data version 1/);
  });

  test("a store of a later format is refused and left unchanged", async () => {
    copyOriginal();
    writeFileSync(fileIn("tenure.json"), '{"format":2}');
    await expectRefused(/format 2/);
    writeFileSync(fileIn("tenure.json"), "what?");
    await expectRefused(/tenure\.json/);
  });

  test("a directory whose data files are directories is refused", async () => {
    mkdirSync(fileIn("lock.mdb"), { recursive: true });
    expect(await refusalOf(directory)).toMatchObject({ code: "INVALID_REQUEST", field: "directory" });
    rmSync(fileIn("lock.mdb"), { recursive: true });
    rmSync(fileIn("data.mdb"));
    mkdirSync(fileIn("data.mdb"));
    expect(await refusalOf(directory)).toMatchObject({ code: "INVALID_REQUEST", field: "directory" });
  });

  test("a directory that this user may not use is refused", async () => {
    // Root may use everything, so as root the test runs as another user.
    const isRoot = process.getuid?.() === 0;
    copyOriginal();
    if (isRoot) chmodSync(root, 0o755);
    for (const [path, mode] of [
      [fileIn("data.mdb"), 0o000],
      [fileIn("lock.mdb"), 0o000],
      [directory, 0o500],
      [directory, 0o000],
    ] as const) {
      if (isRoot) chownSync(path, 65_534, 65_534);
      chmodSync(path, mode);
      const child = new Child("holder.mjs", [directory], isRoot ? { uid: 65_534 } : {});
      const said: unknown = JSON.parse((await child.line()) ?? "null");
      await child.destroy();
      expect(said).toMatchObject({ code: "INVALID_REQUEST", field: "directory" });
      chmodSync(path, 0o700);
    }
  });
});

describe("a damaged store", () => {
  test.each([
    ["is gone", () => rmSync(fileIn("data.mdb")), /has no data\.mdb/],
    ["is empty", () => truncateSync(fileIn("data.mdb"), 0), /has an empty data\.mdb/],
    ["is a fresh one", () => writeFileSync(fileIn("data.mdb"), freshDataFile()), /has an empty data\.mdb/],
    ...[1, 4095, 4096, 8191, 8192, 12_288].map(
      (bytes) =>
        [`has ${bytes} bytes left`, () => truncateSync(fileIn("data.mdb"), bytes), /is cut short/] as const,
    ),
  ] as const)("a store whose data file %s is refused and left unchanged", async (_, damage, message) => {
    copyOriginal();
    damage();
    await expectRefused(message);
  });

  test("a store with a damaged lock file opens", async () => {
    copyOriginal();
    writeFileSync(fileIn("lock.mdb"), "x".repeat(10_000));
    const store = await EmbeddedStore.open({ directory });
    expect(await store.sync()).toBeGreaterThan(0);
    await store.close();
  });

  test("random damage never crashes the process, and no changed entry is accepted", async () => {
    const rounds = 150;
    const child = new Child("damager.mjs", [original, directory, "1", String(rounds)]);
    const counts = new Map<string, number>();
    try {
      for (let line = await child.line(); line !== null; line = await child.line()) {
        const [kind, result = ""] = line.split(" ");
        expect(["same", "refused"], `${kind} in round ${counts.size}: ${line}`).toContain(result);
        if (result === "refused") expect(line).toMatch(/INVALID_REQUEST directory \//);
        counts.set(result, (counts.get(result) ?? 0) + 1);
      }
      expect(await child.ended).toEqual({ code: 0, signal: null });
    } finally {
      await child.destroy();
    }
    expect((counts.get("same") ?? 0) + (counts.get("refused") ?? 0)).toBe(rounds);
    expect(counts.get("refused")).toBeGreaterThan(rounds / 3);
  });
});

function freshDataFile(): Buffer {
  const path = join(root, `fresh-${count++}`);
  void open({ path, overlappingSync: false }).close();
  return readFileSync(join(path, "data.mdb"));
}

test("errors of directories are distinguished by class", async () => {
  const store = await EmbeddedStore.open({ directory });
  await expect(EmbeddedStore.open({ directory })).rejects.toBeInstanceOf(BackendUnavailableError);
  await store.close();
  await expect(EmbeddedStore.open({ directory: fileIn("data.mdb") })).rejects.toBeInstanceOf(
    InvalidRequestError,
  );
});
