/**
 * What one connection knows of the store, and up to which revision it knows everything. ZooKeeper tells that a node has
 * changed, not to what, nor how often; the node is then read. What was written in between is never seen. A feed must
 * still be exact: each of its items brings the reader to a state that the store once had. This is the book-keeping for
 * it, without any I/O.
 *
 * It rests on two facts. An answer with the number `zxid` comes after the events of all transactions up to `zxid`. And
 * what it shows of a node is the node's state as of `zxid`. Both hold because a server applies transactions one at a
 * time, lets no read run beside one, sends the events of each while it applies it, and numbers an answer by the last one
 * applied (its CommitProcessor and FinalRequestProcessor). So a node without an unread event is known as of the last
 * answer; one with an unread event is known as of the last answer before that event (its `since`). A node's version
 * counts its writes: if it has risen by one, no write was missed; if by more, those between `since` and the one that was
 * read are missed for good, and no state in that gap can be shown.
 */
import type { Entry, Revision } from "@tenure/core";

export interface Observation {
  readonly value: string;
  readonly revision: Revision;
  readonly version: number;
}

export interface Cut {
  /** Changes since the last cut, in the order of revisions. */
  readonly entries: readonly Entry[];
  readonly revision: Revision;
}

interface Known {
  readonly revision: Revision;
  readonly version: number;
}

interface Pending {
  readonly entry: Entry;
  /** Writes after this and before the entry were missed; there are none if it is the revision just before. */
  readonly gapAfter: Revision;
}

const ABSENT: Known = { revision: 0, version: -1 };

export class KnownState {
  readonly #known = new Map<string, Known>();
  /** As of the last cut. */
  readonly #shown = new Map<string, Entry>();
  /** Keys with an unread event, and since when; the oldest first. */
  readonly #unread = new Map<string, Revision>();
  /**
   * Keys that were written more than once between two reads. They are read along in each round, changed or not: so
   * their gaps begin where the round before ended, and cannot overlap for ever.
   */
  readonly #busy = new Set<string>();
  #pending: Pending[] = [];
  #answered: Revision = 0;
  #isListed = false;
  #revision: Revision = 0;

  /** Of the last cut; 0 before the first. */
  get revision(): Revision {
    return this.#revision;
  }

  /** What is to be read now; nothing, if no event is unread. */
  toRead(): string[] {
    return this.#unread.size === 0 ? [] : [...new Set([...this.#unread.keys(), ...this.#busy])];
  }

  snapshot(): { readonly entries: readonly Entry[]; readonly revision: Revision } {
    return { entries: [...this.#shown.values()], revision: this.#revision };
  }

  /**
   * The keys that are there when events begin to come. What was known of them before may be out of date; until all were
   * read, there is no state to show.
   */
  listed(keys: readonly string[]): void {
    const unread = new Set([...keys, ...this.#unread.keys()]);
    this.#unread.clear();
    for (const key of unread) this.#unread.set(key, 0);
    this.#isListed = true;
  }

  /** An event: the key has changed. */
  changed(key: string): void {
    if (!this.#unread.has(key)) this.#unread.set(key, this.#answered);
  }

  /** An answer shows the key as it is; its number follows in `answered`. */
  observed(key: string, { value, revision, version }: Observation): void {
    const since = this.#unread.get(key) ?? this.#answered;
    const known = this.#known.get(key) ?? ABSENT;
    this.#unread.delete(key);
    this.#busy.delete(key);
    if (revision <= known.revision) return;
    this.#known.set(key, { revision, version });
    const isNext = version === ((known.version + 1) | 0);
    // Changes before the first listing do not count as missed.
    if (!isNext && since > 0) this.#busy.add(key);
    this.#pending.push({ entry: { key, value, revision }, gapAfter: isNext ? revision - 1 : since });
  }

  answered(zxid: Revision): void {
    this.#answered = Math.max(this.#answered, zxid);
  }

  /** The latest state that can be shown, if it is later than the last. */
  cut(): Cut | null {
    if (!this.#isListed) return null;
    const revision = this.#latestExact();
    if (revision <= this.#revision) return null;
    const due = this.#pending.filter(({ entry }) => entry.revision <= revision);
    this.#pending = this.#pending.filter(({ entry }) => entry.revision > revision);
    const entries = due.map(({ entry }) => entry).sort((a, b) => a.revision - b.revision);
    for (const entry of entries) this.#shown.set(entry.key, entry);
    this.#revision = revision;
    return { entries, revision };
  }

  /** At or before every unread change, and in no gap. */
  #latestExact(): Revision {
    const [oldest] = this.#unread.values();
    let latest = oldest ?? this.#answered;
    for (let before = -1; before !== latest;) {
      before = latest;
      for (const { entry, gapAfter } of this.#pending) {
        if (gapAfter < latest && latest < entry.revision) latest = gapAfter;
      }
    }
    return latest;
  }
}
