import type { Revision } from "@tenure/core";

const MAX_MISSING = 1024;

interface Barrier {
  /** The last message that had come when it was sent. */
  readonly after: Revision;
  revision: Revision | null;
}

/**
 * How far a feed has come, where the stream forgets a message as soon as a later one of the same subject is stored.
 *
 * A consumer that is a little behind finds such messages gone: it delivers 7 and then 10, because 8 and 9 were replaced
 * by later ones, 12 and 15 say. After 10, then, not everything up to 10 has been delivered, in its last form or a later
 * one, and nothing tells which keys 8 and 9 were. Progress must wait until 12 and 15 have come, or later ones of their
 * keys. There are two ways to know that they have:
 *
 * 1. A message says which earlier revisions of its own key there were. One of them that is missing is made up for.
 *
 * 2. A consumer that misses 8 and 9 knows that 12 and 15 were in the stream by then, for a message is gone only once the later
 *    one is stored. So a barrier written afterwards lies above them. When the consumer has come to the barrier, then 12
 *    and 15 have come too, or were missed in their turn since the barrier was sent. If nothing of what was missed since
 *    then is missing still, all that was missed before is made up for.
 *
 * Barriers are messages as well, and replace one another: if they alone could close a gap, those of many stores would
 * make gaps for each other without end. So each says which ones it replaces, and the first way closes the gaps that
 * barriers make: no barrier is the cause of another.
 *
 * What was replaced before the consumer began is missing like anything else.
 */
export class Progress {
  #delivered: Revision = 0;
  #reached: Revision = 0;
  /** Neither delivered nor made up for, rising. */
  readonly #missing = new Set<Revision>();
  /** Up to here some are missing that were too many to note, or are too old for anyone to tell of; 0: none. */
  #unnoted: Revision = 0;
  #barrier: Barrier | null = null;
  readonly #maxMissing: number;

  /** More than `maxMissing` at once are not noted one by one. */
  constructor(maxMissing: number = MAX_MISSING) {
    this.#maxMissing = maxMissing;
  }

  /** Everything at or below it has been delivered: for each key the last write up to it, or a later one. */
  get reached(): Revision {
    return this.#reached;
  }

  /** The last message that came. */
  get delivered(): Revision {
    return this.#delivered;
  }

  get isMissing(): boolean {
    return this.#missing.size > 0 || this.#unnoted > 0;
  }

  /** No message will make up for what is missing. */
  get isHopeless(): boolean {
    return this.#unnoted > 0;
  }

  /** Without a barrier it may not go on. */
  get needsBarrier(): boolean {
    const isUnderWay =
      this.#barrier !== null && (this.#barrier.revision === null || this.#delivered < this.#barrier.revision);
    return this.isMissing && !isUnderWay;
  }

  /** Called as it is sent. */
  sendBarrier(): void {
    this.#barrier = { after: this.#delivered, revision: null };
  }

  /** It was acknowledged. */
  setBarrier(revision: Revision): void {
    if (this.#barrier !== null) this.#barrier.revision = revision;
    this.#settle();
  }

  /** Whether something was left out before this one. */
  isGap(revision: Revision): boolean {
    return revision !== this.#delivered + 1;
  }

  /** The next message, of whatever key; revisions rise. `replaced`: earlier ones of its key, as far as it tells. */
  deliver(revision: Revision, replaced: () => Iterable<Revision>): void {
    if (this.isGap(revision)) this.#miss(this.#delivered + 1, revision - 1);
    this.#delivered = revision;
    if (this.#missing.size > 0) for (const each of replaced()) this.#missing.delete(each);
    this.#settle();
  }

  #miss(first: Revision, last: Revision): void {
    const isNoted = this.#delivered > 0 && this.#missing.size + last - first < this.#maxMissing;
    if (!isNoted) this.#unnoted = last;
    else for (let each = first; each <= last; each++) this.#missing.add(each);
  }

  #settle(): void {
    const barrier = this.#barrier;
    if (barrier !== null && barrier.revision !== null && this.#delivered >= barrier.revision) {
      this.#pass(barrier.after);
    }
    if (!this.isMissing) this.#reached = this.#delivered;
  }

  #pass(after: Revision): void {
    if (this.#unnoted > after) return;
    for (const each of this.#missing) if (each > after) return;
    this.#missing.clear();
    this.#unnoted = 0;
    this.#barrier = null;
  }
}
