import type { Revision } from "@tenure/core";

const MAX_PER_SUBJECT = 16;
const MAX_SUBJECTS = 1024;
/** A reader that is further behind than this has missed more than these revisions could explain. */
const MAX_AGE = 4096;

/**
 * The revisions of each subject that were acknowledged to this store recently. The next message on the subject contains them,
 * so that a reader that finds one of them gone knows which message replaced it (`Progress`).
 */
export class AcknowledgedRevisions {
  readonly #revisions = new Map<string, readonly Revision[]>();
  #highest: Revision = 0;

  add(subject: string, revision: Revision): void {
    this.#highest = Math.max(this.#highest, revision);
    const latest = [revision, ...this.of(subject)].slice(0, MAX_PER_SUBJECT);
    // Moved to the end: the first subject is the one that was not written to for the longest time.
    this.#revisions.delete(subject);
    this.#revisions.set(subject, latest);
    if (this.#revisions.size <= MAX_SUBJECTS) return;
    for (const oldest of this.#revisions.keys()) {
      this.#revisions.delete(oldest);
      return;
    }
  }

  /** Latest first. */
  of(subject: string): readonly Revision[] {
    return (this.#revisions.get(subject) ?? []).filter((revision) => revision > this.#highest - MAX_AGE);
  }

  clear(): void {
    this.#revisions.clear();
    this.#highest = 0;
  }
}
