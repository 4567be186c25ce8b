/**
 * A process of another version beside the servers: it writes entries that they cannot read (a newer format, or damage),
 * and writes back the old entries after a while. Until then no server may decide anything on such an entry, nor
 * overwrite it.
 */
import { type Entry, sleep, type Store } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";

const UNREADABLE = ['{"v":99,"x":[1,2,3]}', "not even JSON", '{"v":2}', "[]", "null"];

const MAX_MS = 9000;
const LAST_MS = 2500;
const NEWER = '{"v":99}';

export interface OtherVersionOptions {
  readonly environment: Environment;
  readonly store: Store;
  readonly random: Random;
  /** The entry as the store has it. */
  readonly present: (key: string) => Entry | undefined;
  readonly onSpoiled: (key: string, value: string) => void;
  readonly onRepaired: (entry: Entry) => void;
}

export async function writeOtherVersions(options: OtherVersionOptions): Promise<void> {
  const { environment, random } = options;
  const { time, profile, groupIds } = environment;
  // All of it is repaired before the faults end, but for a page of members at the very end.
  const endMs = profile.chaosMs - LAST_MS;
  const write = async (prefix: string, forMs: number) => {
    const entry = options.present(`${prefix}/${random.pick(groupIds)}`);
    if (entry !== undefined) await spoil(options, entry, forMs);
  };
  while (time.monotonicMs() < endMs - MAX_MS) {
    await sleep(time, random.between(200, 1000));
    const forMs = random.chance(0.4) ? random.between(7000, MAX_MS) : random.between(100, 1800);
    await write(random.pick(["r", "r", "h", "m"]), Math.min(forMs, endMs - time.monotonicMs()));
  }
  await sleep(time, Math.max(0, endMs - time.monotonicMs()));
  // Leaders lapse meanwhile, and all of them wait for what comes then.
  await write("h", LAST_MS - 200);
  const page = options.present(`m/${random.pick(groupIds)}`);
  if (page === undefined) return;
  // Members are for people: a page that stays unreadable must affect nothing else.
  const revision = await overwrite(options.store, page.key, page.revision, NEWER);
  if (revision !== null) options.onSpoiled(page.key, NEWER);
}

async function spoil(
  { environment, store, random, onSpoiled, onRepaired }: OtherVersionOptions,
  entry: Entry,
  forMs: number,
): Promise<void> {
  const { time, trace } = environment;
  const { key, value } = entry;
  const unreadable = random.pick(UNREADABLE);
  const spoiled = await overwrite(store, key, entry.revision, unreadable);
  if (spoiled === null) return;
  trace?.note("other", `writes ${key}, which cannot be read`);
  onSpoiled(key, unreadable);
  await sleep(time, forMs);
  const revision = await overwrite(store, key, spoiled, value);
  trace?.note("other", `repairs ${key}`);
  if (revision !== null) onRepaired({ key, value, revision });
}

async function overwrite(store: Store, key: string, expected: number, value: string): Promise<number | null> {
  const [outcome] = await store.compareAndSet([{ key, expected, value }]);
  return outcome?.kind === "swapped" ? outcome.revision : null;
}
