/**
 * Makes of a watch's messages changes without a gap and without a repetition.
 *
 * Every batch writes the `head`, whose version then rises by one. So a version left out is a batch left out: etcd before
 * 3.4.31 and 3.5.13 can lose events of a slow watch at a compaction without a word. And before 3.4.25 and 3.5.8 it can
 * repeat events after a member was behind.
 */
import type { Entry, Revision } from "@tenure/core";
import type { Keyspace } from "./keyspace.js";
import { DELETED, type WatchEvent, type WatchResponse } from "./protocol.js";
import type { Snapshot } from "./snapshot.js";
import { entryOf } from "./writes.js";

export type Reading =
  | { readonly kind: "nothing" }
  /** Everything up to `revision`; entries in the order of their revisions. */
  | { readonly kind: "changes"; readonly entries: readonly Entry[]; readonly revision: Revision }
  /** What follows cannot be trusted to be whole. */
  | { readonly kind: "broken"; readonly why: string };

const NOTHING: Reading = { kind: "nothing" };

export class ChangeLog {
  readonly #keyspace: Keyspace;
  /** Of a message that is not complete yet. */
  #held: readonly WatchEvent[] = [];
  #revision: Revision;
  #batches: number;
  #due: Revision = 0;

  constructor(keyspace: Keyspace, { revision, batches }: Pick<Snapshot, "revision" | "batches">) {
    this.#keyspace = keyspace;
    this.#revision = revision;
    this.#batches = batches;
  }

  read(response: WatchResponse): Reading {
    const { compact_revision: compacted = 0, cancel_reason: reason = "" } = response;
    if (compacted > 0) return broken(`etcd has compacted what came before revision ${compacted}`);
    if (response.canceled === true) return broken(`etcd cancelled it: ${reason}`);
    const events = this.#held.length === 0 ? response.events : [...this.#held, ...response.events];
    // The events of one revision may be spread over messages with this mark, and the one after them.
    this.#held = response.fragment === true ? events : [];
    return response.fragment === true ? NOTHING : this.#apply(events);
  }

  /**
   * Called at intervals with the revision of the last batch that the member has. The watch has stopped if it has not yet reached
   * the revision of the previous call.
   */
  isHalted(revision: Revision): boolean {
    const isBehind = this.#revision < this.#due;
    this.#due = revision;
    return isBehind;
  }

  #apply(events: readonly WatchEvent[]): Reading {
    const entries: Entry[] = [];
    const before = this.#revision;
    for (const { type, kv } of events) {
      if (kv.mod_revision <= before) continue;
      if (type === DELETED) return broken(`somebody deleted ${kv.key}`);
      this.#revision = kv.mod_revision;
      if (kv.key !== this.#keyspace.head) entries.push(entryOf(kv, this.#keyspace));
      else if (kv.version !== ++this.#batches)
        return broken(`etcd left out what came before revision ${kv.mod_revision}`);
    }
    return this.#revision === before ? NOTHING : { kind: "changes", entries, revision: this.#revision };
  }
}

function broken(why: string): Reading {
  return { kind: "broken", why };
}
