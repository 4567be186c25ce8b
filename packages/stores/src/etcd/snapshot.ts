import type { Entry, Revision } from "@tenure/core";
import type { Connection } from "./connection.js";
import type { Keyspace } from "./keyspace.js";
import type { Protocol } from "./protocol.js";
import { entryOf } from "./writes.js";

export interface Snapshot {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** How many batches had been written by then. */
  readonly batches: number;
}

const PAGE_ENTRIES = 2000;

/** Page by page, all as of the revision of the first; that one is linearizable, and so are the others. */
export async function readSnapshot(
  connection: Connection,
  protocol: Protocol,
  keyspace: Keyspace,
  signal: AbortSignal,
): Promise<Snapshot> {
  const entries: Entry[] = [];
  let batches = 0;
  let revision = 0;
  for (let from = keyspace.head; ;) {
    const request = { key: from, range_end: keyspace.end, limit: PAGE_ENTRIES, revision };
    const { header, kvs, more } = await connection.ask(protocol.range, request, { signal });
    if (revision === 0) ({ revision } = header);
    for (const found of kvs) {
      if (found.key === keyspace.head) batches = found.version;
      else entries.push(entryOf(found, keyspace));
    }
    const last = kvs.at(-1);
    if (more !== true || last === undefined) return { entries, revision, batches };
    // The first key after it that there can be.
    from = `${last.key}\0`;
  }
}
