/** Who leads each of many groups, by one watch of each. */
import type { Elector } from "@tenure/core";
import { LeaderWatch } from "../election/leader-watch.js";
import type { ParsedElection } from "../election/options.js";
import type { KnownLeader } from "../election/state.js";

export interface BoardParts {
  readonly elector: Elector;
  readonly groupIds: readonly string[];
  readonly options: ParsedElection;
  readonly changed: (groupId: string) => void;
  /** `error`: why a watch broke; `null`: news came. */
  readonly contact: (groupId: string, error: unknown) => void;
}

export class Board {
  readonly #watches: ReadonlyMap<string, LeaderWatch>;
  /** Of these no news could be had. */
  readonly #failing = new Set<string>();

  constructor({ elector, groupIds, options, changed, contact }: BoardParts) {
    const { clock, random, retry } = options;
    const watchOf = (groupId: string) =>
      new LeaderWatch({
        elector,
        groupId,
        clock,
        random,
        retry,
        changed: () => changed(groupId),
        contact: (error) => {
          if (error === null) this.#failing.delete(groupId);
          else this.#failing.add(groupId);
          contact(groupId, error);
        },
      });
    this.#watches = new Map(groupIds.map((groupId) => [groupId, watchOf(groupId)]));
  }

  /** Ends by the signal alone. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#watches.values()].map((watch) => watch.run(signal)));
  }

  /** Of each of them there was news, or could not be had. */
  isComplete(groupIds: Iterable<string> = this.#watches.keys()): boolean {
    for (const groupId of groupIds) {
      if (this.known(groupId) === null && !this.#failing.has(groupId)) return false;
    }
    return true;
  }

  watch(groupId: string): LeaderWatch {
    const watch = this.#watches.get(groupId);
    if (watch === undefined) throw new Error(`group ${groupId} is not on the board`);
    return watch;
  }

  /** `null` before the first news. */
  known(groupId: string): KnownLeader | null {
    return this.watch(groupId).known;
  }

  isVacant(groupId: string): boolean {
    return this.known(groupId)?.nodeId === null;
  }
}
