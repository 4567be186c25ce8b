import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Entry, Revision } from "@tenure/core";
import { Random } from "@tenure/core/testing";
import { rounds } from "@tenure/engines";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";
import { Child } from "./fixtures/child.test.helper.js";

/** `npm run chaos` has all of them. */
const ROUNDS = rounds(15, 50);
const SEED = 20_260_101;

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-crash-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Every acknowledged write. */
class Acknowledged {
  readonly latest = new Map<string, Entry>();
  readonly byRevision = new Map<Revision, Entry>();
  highest: Revision = 0;

  add(entry: Entry): void {
    const { key, value, revision } = entry;
    expect(this.byRevision.get(revision), `revision ${revision} was given twice`).toBeUndefined();
    expect(Number(value)).toBe(Number(this.latest.get(key)?.value ?? 0) + 1);
    this.latest.set(key, entry);
    this.byRevision.set(revision, entry);
    this.highest = Math.max(this.highest, revision);
  }
}

/** Runs a writer and kills it after this much output; what it printed until then counts. */
async function runAndKill(directory: string, linesBeforeKill: number): Promise<Entry[]> {
  const child = new Child("term-writer.mjs", [directory]);
  const acknowledged: Entry[] = [];
  try {
    let lines = 0;
    for (let line = await child.line(); line !== null; line = await child.line()) {
      if (++lines === linesBeforeKill) child.signal("SIGKILL");
      const [word, key = "", value = "", revision] = line.split(" ");
      if (word === "ack") acknowledged.push({ key, value, revision: Number(revision) });
    }
    expect((await child.ended).signal).toBe("SIGKILL");
    return acknowledged;
  } finally {
    await child.destroy();
  }
}

test(`no acknowledged term is lost or goes back when the writer is killed ${ROUNDS} times`, async () => {
  const directory = join(root, "store");
  const random = new Random(SEED);
  const known = new Acknowledged();
  for (let round = 0; round < ROUNDS; round++) {
    // Sometimes while it opens, otherwise during the writes.
    const linesBeforeKill = random.chance(0.2) ? random.int(1, 2) : random.int(3, 200);
    for (const entry of await runAndKill(directory, linesBeforeKill)) known.add(entry);
    const store = await EmbeddedStore.open({ directory });
    expect(await store.sync()).toBeGreaterThanOrEqual(known.highest);
    for await (const { entries } of store.feed()) {
      const found = new Map(entries.map((entry) => [entry.key, entry]));
      for (const [key, { value, revision }] of known.latest) {
        expect(Number(found.get(key)?.value), `${key} after round ${round}`).toBeGreaterThanOrEqual(
          Number(value),
        );
        expect(found.get(key)?.revision).toBeGreaterThanOrEqual(revision);
      }
      for (const entry of entries) {
        const before = known.byRevision.get(entry.revision);
        // Written, and killed before it could be acknowledged: from now on it counts as well.
        if (before === undefined) known.add(entry);
        else expect(entry).toEqual(before);
      }
      break;
    }
    await store.close();
  }
  expect(known.byRevision.size).toBeGreaterThan(ROUNDS);
});
