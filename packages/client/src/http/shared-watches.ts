/**
 * All watches of single groups of a process over as few connections as possible. Watches that begin at about the same
 * time open one together. It takes in every open connection that is no larger, whose groups continue there from their
 * cursors. So `n` groups have at most `n / 1000` full connections and ten more, and no group is moved more than ten
 * times.
 *
 * It does not use `GET /v1/watch`, which sends every event of every group that the caller may see. For a process that
 * watches a few of a hundred thousand groups, that is the whole load of the service.
 */
import type { CancelTimer } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import { type GroupSubscription, SharedStream, type SharedStreamParts } from "./shared-stream.js";

/** How long the first watch waits for others. */
const WINDOW_MS = 2;
/** As many groups as one request may name. */
const MAX_GROUPS = LIMITS.renewMany;

export class SharedWatches {
  readonly #parts: SharedStreamParts;
  readonly #streams = new Set<SharedStream>();
  readonly #gathering = new Set<GroupSubscription>();
  #cancelTimer: CancelTimer = () => {};

  constructor(parts: Omit<SharedStreamParts, "ended">) {
    this.#parts = { ...parts, ended: (stream) => this.#streams.delete(stream) };
  }

  /** Returns the function that leaves. */
  join(subscription: GroupSubscription): () => void {
    this.#gather([subscription]);
    return () => this.#leave(subscription);
  }

  #gather(subscriptions: readonly GroupSubscription[]): void {
    if (this.#gathering.size === 0) {
      this.#cancelTimer = this.#parts.parts.clock.after(WINDOW_MS, () => this.#open());
    }
    for (const each of subscriptions) this.#gathering.add(each);
  }

  #leave(subscription: GroupSubscription): void {
    if (this.#gathering.delete(subscription)) {
      if (this.#gathering.size === 0) this.#cancelTimer();
      return;
    }
    for (const stream of this.#streams) {
      if (!stream.holds(subscription)) continue;
      stream.leave(subscription);
      // The service should not keep sending events of groups that are no longer watched.
      if (stream.size > 0 && 2 * stream.size < stream.openedFor) this.#gather(stream.close());
      return;
    }
  }

  #open(): void {
    for (const subscriptions of divide(this.#gathering)) {
      this.#absorb(subscriptions);
      this.#streams.add(new SharedStream(this.#parts, subscriptions));
    }
    this.#gathering.clear();
  }

  #absorb(subscriptions: Map<string, GroupSubscription>): void {
    for (const stream of [...this.#streams].toSorted((one, other) => one.size - other.size)) {
      if (stream.size > subscriptions.size || stream.size + subscriptions.size > MAX_GROUPS) return;
      if ([...subscriptions.keys()].some((groupId) => stream.has(groupId))) continue;
      for (const each of stream.close()) subscriptions.set(each.groupId, each);
    }
  }
}

/** A request names a group once, and at most `MAX_GROUPS` groups. */
function divide(subscriptions: Iterable<GroupSubscription>): readonly Map<string, GroupSubscription>[] {
  const parts: Map<string, GroupSubscription>[] = [];
  for (const each of subscriptions) {
    let part = parts.find((some) => some.size < MAX_GROUPS && !some.has(each.groupId));
    if (part === undefined) {
      part = new Map();
      parts.push(part);
    }
    part.set(each.groupId, each);
  }
  return parts;
}
