import type { Revision } from "@tenure/core";

/**
 * How far a feed has come, where the stream forgets a message as soon as a later one of the same subject is stored.
 *
 * A consumer that is a little behind finds such messages gone: it delivers 7 and then 10, because 8 and 9 were replaced
 * by later ones, 12 and 15 say. After 10, then, not everything up to 10 has been delivered, in its last form or a later
 * one, and nothing tells which keys 8 and 9 were. Progress must wait until 12 and 15 have come.
 *
 * When have they? Whoever sees the gap knows that 12 and 15 were in the stream by then, for a message is gone only once
 * the later one is stored. So a barrier written after the gap was seen lies above them. If the consumer comes to the
 * barrier and there was no further gap meanwhile, it has delivered 12 and 15, and all that was left out is made up for.
 * If there was one, 12 may itself have been left out, and the next barrier decides.
 *
 * What was replaced before the consumer began is a gap like any other.
 */
export class Progress {
  #delivered: Revision = 0;
  #reached: Revision = 0;
  #gaps = 0;
  #closedGaps = 0;
  #barrier: { readonly gaps: number; revision: Revision | null } | null = null;

  /** Everything at or below it has been delivered: for each key the last write up to it, or a later one. */
  get reached(): Revision {
    return this.#reached;
  }

  /** The last message that came. */
  get delivered(): Revision {
    return this.#delivered;
  }

  /** A barrier must be written for it to go on. */
  get needsBarrier(): boolean {
    return this.#barrier === null && this.#gaps > this.#closedGaps;
  }

  /** Called as it is sent. */
  sendBarrier(): void {
    this.#barrier = { gaps: this.#gaps, revision: null };
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

  /** The next message, of whatever key; revisions rise. */
  deliver(revision: Revision): void {
    if (this.isGap(revision)) this.#gaps++;
    this.#delivered = revision;
    this.#settle();
  }

  #settle(): void {
    const barrier = this.#barrier;
    if (barrier !== null && barrier.revision !== null && this.#delivered >= barrier.revision) {
      this.#closedGaps = barrier.gaps;
      this.#barrier = null;
    }
    if (this.#closedGaps === this.#gaps) this.#reached = this.#delivered;
  }
}
