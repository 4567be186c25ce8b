import type { Store } from "@tenure/core";

/** The record of a group as the store has it: for values as long as those that Tenure writes. */
export async function recordOf(store: Store, groupId: string): Promise<string> {
  for await (const { entries } of store.feed()) {
    const entry = entries.find(({ key }) => key === `r/${groupId}`);
    if (entry !== undefined) return entry.value;
    break;
  }
  throw new Error(`there is no record of ${groupId}`);
}
