/**
 * The latest events of all groups, for watches over all groups.
 *
 * A store's feed may leave out superseded values. So two servers may see the same event under different revisions, and
 * this server cannot know which write brought it. What every server does know is that everything up to some revision
 * has been delivered, because the feed reports it. Therefore:
 *
 * - Events are published in ranges. A range holds everything between two revisions that the feed has reached; entries above
 *   what it has reached are held back until it has.
 * - A cursor is a revision up to which a reader has had everything and nothing beyond (`whole`), which means the same
 *   at every server. Within a range it is instead the revision before the range, with the note that the reader has had
 *   a part of what follows (`part`). A reader that returns with a `part` cursor is shown every group with an event
 *   since as a RESYNC.
 * - A cursor of another server may lie within a range of this one. Each entry knows the revisions between which its
 *   events were written. Entries that lie wholly on one side of the cursor are clear; the few groups in between are
 *   shown as a RESYNC.
 */
import type { LeadershipEvent } from "../event.js";
import type { ElectionRecord } from "../record.js";
import type { Revision } from "../store/store.js";

/** What the log keeps in each group. */
export interface LoggedGroup {
  readonly groupId: string;
  /** The number of the last event taken; `UNKNOWN` while the record cannot be read. */
  loggedNumber: number;
  /** The last revision of the record that was taken. */
  loggedRevision: Revision;
}

export interface LogEntry {
  readonly groupId: string;
  /** Written after `since`, up to `revision`. `null`: some are missing, so watchers are shown the state. */
  readonly events: readonly LeadershipEvent[] | null;
  /** The number of the group's last event after this entry. */
  readonly number: number;
  readonly since: Revision;
  readonly revision: Revision;
  /** The range: everything after `from`, up to `to`. */
  readonly from: Revision;
  readonly to: Revision;
}

/** How a reader continues from a cursor: what it is shown first, then everything from `position` on. */
export interface Resumption {
  readonly first: readonly LogEntry[];
  readonly position: number;
  /** Of what is shown first, as of a range. */
  readonly from: Revision;
  readonly to: Revision;
}

const UNKNOWN = -1;
/** Cursors are safe integers, and so are revisions, which may take all of that range; past this many the log begins again. */
const REVISIONS_PER_ROUND = 2 ** 51;
const ENTRIES_KEPT = 16_384;

export class EventLog {
  readonly #wake: (listeners: Iterable<() => void>) => void;
  #entries: LogEntry[] = [];
  /** The position of the first entry that is kept. */
  #firstPosition = 0;
  /** Everything written after this revision, and up to `#reached`, is here. `null`: nothing has been seen yet. */
  #from: Revision | null = null;
  #reached: Revision = 0;
  #held: Omit<LogEntry, "from" | "to">[] = [];
  readonly #listeners = new Set<() => void>();

  /** `wake` calls the listeners it is given, when it sees fit. */
  constructor(wake: (listeners: Iterable<() => void>) => void) {
    this.#wake = wake;
  }

  /** Everything published so far comes before this position. */
  get end(): number {
    return this.#firstPosition + this.#entries.length;
  }

  /** For a reader that has had everything published so far. */
  get cursor(): number {
    return wholeCursor(this.#reached);
  }

  /** Calls `wake` when there is more; returns the function that stops it. */
  listen(wake: () => void): () => void {
    this.#listeners.add(wake);
    return () => this.#listeners.delete(wake);
  }

  /** An entry of the feed, in its order. `null`: it cannot be read. */
  take(group: LoggedGroup, record: ElectionRecord | null, revision: Revision): void {
    const { groupId, loggedNumber, loggedRevision } = group;
    if (revision <= loggedRevision) return;
    if (record === null) {
      group.loggedNumber = UNKNOWN;
      return;
    }
    group.loggedNumber = record.eventNumber;
    group.loggedRevision = revision;
    if (this.#from === null || record.eventNumber === loggedNumber) return;
    const events = record.events.filter((event) => event.number > loggedNumber);
    const isWhole = loggedNumber !== UNKNOWN && record.eventNumber - loggedNumber === events.length;
    const since = Math.max(loggedRevision, this.#reached);
    const number = record.eventNumber;
    this.#held.push({ groupId, events: isWhole ? events : null, number, since, revision });
  }

  /** The feed has delivered everything up to `revision`. */
  reach(revision: Revision): void {
    if (this.#from === null || cursorOf(revision) < cursorOf(this.#reached)) return this.#restart(revision);
    // A value that the feed left out may lie below `revision` and become known only by one above it.
    if (this.#held.some((entry) => entry.revision > revision)) return;
    const held = this.#held;
    this.#held = [];
    for (const entry of held) this.#entries.push({ ...entry, from: this.#reached, to: revision });
    this.#reached = Math.max(this.#reached, revision);
    if (held.length === 0) return;
    // Half of the entries at a time, so that the cost per entry is negligible.
    if (this.#entries.length > 2 * ENTRIES_KEPT) this.#drop(this.#entries.length - ENTRIES_KEPT);
    this.#wake(this.#listeners);
  }

  /** Entries that are not published yet. */
  get held(): readonly Pick<LogEntry, "groupId" | "events" | "number">[] {
    return this.#held;
  }

  /** The entries from a position on; `null` if some of them are not kept any more. */
  read(position: number): readonly LogEntry[] | null {
    const index = position - this.#firstPosition;
    return index < 0 ? null : this.#entries.slice(index);
  }

  /** `null` if some of what came after the cursor is not here, or it lies ahead of all that is known. */
  seek(cursor: number): Resumption | null {
    const revision = Math.floor(cursor / 2) - 1;
    if (this.#from === null || revision < cursorRevision(this.#from)) return null;
    if (revision > cursorRevision(this.#reached)) return null;
    let index = this.#firstAfter(revision);
    if (cursor % 2 === 1) {
      const first = lastOfEach(this.#entries.slice(index));
      return { first, position: this.end, from: revision, to: this.#reached };
    }
    const first: LogEntry[] = [];
    const to = this.#entries[index]?.to ?? this.#reached;
    for (; cursorRevision(this.#entries[index]?.from ?? revision) < revision; index++) {
      const entry = this.#entries[index] as LogEntry;
      if (cursorRevision(entry.revision) <= revision) continue;
      first.push(cursorRevision(entry.since) >= revision ? entry : { ...entry, events: null });
    }
    return { first, position: this.#firstPosition + index, from: revision, to };
  }

  /** The index of the first entry of a range that goes beyond `revision`. */
  #firstAfter(revision: Revision): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (cursorRevision((this.#entries[middle] as LogEntry).to) > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #drop(count: number): void {
    this.#from = this.#entries[count - 1]?.to ?? this.#from;
    this.#entries = this.#entries.slice(count);
    this.#firstPosition += count;
  }

  /** Readers cannot continue from before; their positions are no longer valid. */
  #restart(revision: Revision): void {
    this.#firstPosition = this.end + 1;
    this.#entries = [];
    this.#held = [];
    this.#from = revision;
    this.#reached = revision;
    this.#wake(this.#listeners);
  }
}

/** For a reader that has had everything up to `revision` and nothing beyond. 0 is no cursor of any log: it means "too old". */
export function wholeCursor(revision: Revision): number {
  return 2 * cursorRevision(revision) + 2;
}

/** For a reader that has had everything up to `revision` and a part of what follows. */
export function partCursor(revision: Revision): number {
  return 2 * cursorRevision(revision) + 3;
}

function cursorRevision(revision: Revision): number {
  return revision % REVISIONS_PER_ROUND;
}

const cursorOf = wholeCursor;

/** Of each group its last entry, to be shown as a state. */
function lastOfEach(entries: readonly LogEntry[]): readonly LogEntry[] {
  const last = new Map<string, LogEntry>();
  for (const entry of entries) last.set(entry.groupId, { ...entry, events: null });
  return [...last.values()];
}
