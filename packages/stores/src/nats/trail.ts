import type { Revision } from "@tenure/core";

const LONGEST = 16;
const MOST_SUBJECTS = 1024;
/** Whoever is further behind than so many messages has missed more than a trail could tell. */
const FAR = 4096;

/**
 * Which revisions of a subject were acknowledged to this store of late. The next message on the subject tells of them,
 * so that whoever finds one of them gone knows by what it was replaced (`Progress`).
 */
export class Trail {
  readonly #revisions = new Map<string, readonly Revision[]>();
  #highest: Revision = 0;

  add(subject: string, revision: Revision): void {
    this.#highest = Math.max(this.#highest, revision);
    const trail = [revision, ...this.of(subject)].slice(0, LONGEST);
    // Moved to the end: the first is the one that was not written to for the longest.
    this.#revisions.delete(subject);
    this.#revisions.set(subject, trail);
    if (this.#revisions.size <= MOST_SUBJECTS) return;
    for (const oldest of this.#revisions.keys()) {
      this.#revisions.delete(oldest);
      return;
    }
  }

  /** The latest first. */
  of(subject: string): readonly Revision[] {
    return (this.#revisions.get(subject) ?? []).filter((revision) => revision > this.#highest - FAR);
  }

  clear(): void {
    this.#revisions.clear();
    this.#highest = 0;
  }
}
