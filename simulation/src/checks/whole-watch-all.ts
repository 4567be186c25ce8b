import type { LeadershipEvent, WatchEvent } from "@tenure/core";
import type { GroupTruth } from "../truth.js";
import type { Check, CheckContext, WatchedAll } from "./check.js";

/** Without faults an event is with every watcher sooner than this, also with one that has to connect again. */
const ON_ITS_WAY_MS = 1500;

/**
 * S13: a watcher of all groups gets each event of each group once, in order and as it was written, over servers and
 * connections. A RESYNC, of which there may be any number, shows a state that is no older than what was seen before. At
 * the end of the watch everything was seen.
 */
export class WholeWatchAll implements Check {
  readonly #context: CheckContext;
  /** Per watcher and group, the number of the last event that it has seen or knows the state of. */
  readonly #seen = new Map<string, Map<string, number>>();
  /** Per watcher, the cursor at which the state of each led group comes: not events. */
  readonly #stateCursors = new Map<string, number>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWatchedAll({ watcher, cursor, event }: WatchedAll): void {
    const seen = this.#seen.get(watcher) ?? new Map<string, number>();
    this.#seen.set(watcher, seen);
    if (cursor === undefined) this.#stateCursors.set(watcher, event.cursor);
    const truth = this.#context.truth(event.groupId);
    const isState = event.type === "RESYNC" || event.cursor === this.#stateCursors.get(watcher);
    const number = isState ? stateNumber(truth, event) : eventNumber(truth, event);
    if (number === null) {
      this.#context.fail("S13", `${watcher} gets ${describe(event)}, which was never written`);
      return;
    }
    const last = seen.get(event.groupId);
    seen.set(event.groupId, number);
    if (last === undefined) return;
    if (isState ? number < last : number !== last + 1)
      this.#context.fail(
        "S13",
        `${watcher} gets ${describe(event)}, number ${number}, after number ${last} of ${event.groupId}`,
      );
  }

  onEnd(): void {
    const endMs = this.#context.nowMs() - ON_ITS_WAY_MS;
    for (const [watcher, seen] of this.#seen) {
      for (const [groupId, number] of seen) {
        const { writes } = this.#context.truth(groupId);
        const lost = writes
          .filter(({ atMs }) => atMs < endMs)
          .flatMap(({ events }) => events)
          .find((event) => event.number > number);
        if (lost !== undefined)
          this.#context.fail(
            "S13",
            `${watcher} ends at event ${number} of ${groupId}, and never gets ${lost.number}`,
          );
      }
    }
  }
}

/** Each term begins once and ends once. */
function eventNumber({ events }: GroupTruth, event: WatchEvent): number | null {
  for (const written of events.values()) if (isSame(written, event)) return written.number;
  return null;
}

function isSame(written: LeadershipEvent, event: WatchEvent): boolean {
  return (
    written.type === event.type &&
    written.term === event.term &&
    written.leaderNodeId === event.leaderNodeId &&
    written.reason === event.reason &&
    written.tsMs === event.tsMs
  );
}

/** The last event of a group in that state. */
function stateNumber({ events }: GroupTruth, { term, leaderNodeId }: WatchEvent): number | null {
  if (term === 0) return 0;
  const type = leaderNodeId === null ? "LEADER_LOST" : "LEADER_CHANGED";
  for (const written of events.values())
    if (written.term === term && written.type === type) return written.number;
  return null;
}

function describe({ type, groupId, term, leaderNodeId }: WatchEvent): string {
  return `${type} of ${groupId}, term ${term}, ${leaderNodeId ?? "nobody"}`;
}
