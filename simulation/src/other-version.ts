/**
 * A process of another version beside the servers: it writes entries that they cannot read (a newer format, or damage), and
 * writes back what was there after a while. Until then nobody may decide anything on such an entry, nor write over it.
 */
import { type Entry, sleep, type Store } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";

const UNREADABLE = ['{"v":99,"x":[1,2,3]}', "not even JSON", '{"v":2}', "[]", "null"];

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
  while (time.monotonicMs() < profile.chaosMs - 4000) {
    await sleep(time, random.between(200, 2000));
    const prefix = random.pick(["r", "r", "h", "m"]);
    const entry = options.present(`${prefix}/${random.pick(groupIds)}`);
    if (entry !== undefined) await spoil(options, entry);
  }
}

async function spoil(
  { environment, store, random, onSpoiled, onRepaired }: OtherVersionOptions,
  entry: Entry,
) {
  const { time, trace } = environment;
  const { key, value } = entry;
  const unreadable = random.pick(UNREADABLE);
  const spoiled = await write(store, key, entry.revision, unreadable);
  if (spoiled === null) return;
  trace?.note("other", `writes ${key}, which cannot be read`);
  onSpoiled(key, unreadable);
  await sleep(time, random.between(100, 1800));
  const revision = await write(store, key, spoiled, value);
  trace?.note("other", `repairs ${key}`);
  if (revision !== null) onRepaired({ key, value, revision });
}

async function write(store: Store, key: string, expected: number, value: string): Promise<number | null> {
  const [outcome] = await store.compareAndSet([{ key, expected, value }]);
  return outcome?.kind === "swapped" ? outcome.revision : null;
}
