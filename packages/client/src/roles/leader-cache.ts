/** Who leads each of many groups, with one watch for each. */
import type { Elector } from "@tenure/core";
import { LeaderWatch } from "../election/leader-watch.js";
import type { ParsedElection } from "../election/options.js";
import type { KnownLeader } from "../election/state.js";

export interface LeaderCacheParts {
  readonly elector: Elector;
  readonly groupIds: readonly string[];
  readonly options: ParsedElection;
  readonly changed: (groupId: string) => void;
  /** `error`: why a watch broke; `null`: news arrived. */
  readonly contact: (groupId: string, error: unknown) => void;
}

export class LeaderCache {
  readonly #parts: LeaderCacheParts;
  readonly #watches = new Map<string, LeaderWatch>();
  readonly #runs = new Map<string, { readonly ending: AbortController; readonly ended: Promise<void> }>();
  /** The groups whose leader could not be determined. */
  readonly #failing = new Set<string>();
  #isRunning = false;

  constructor(parts: LeaderCacheParts) {
    this.#parts = parts;
    for (const groupId of parts.groupIds) this.add(groupId);
  }

  add(groupId: string): void {
    const { elector, options, changed, contact } = this.#parts;
    const watch: LeaderWatch = new LeaderWatch({
      ...options,
      elector,
      groupId,
      // News of a group that was removed no longer counts.
      changed: () => {
        if (this.#watches.get(groupId) === watch) changed(groupId);
      },
      contact: (error) => {
        if (error === null) this.#failing.delete(groupId);
        else this.#failing.add(groupId);
        contact(groupId, error);
      },
    });
    this.#watches.set(groupId, watch);
    if (this.#isRunning) this.#run(groupId, watch);
  }

  async remove(groupId: string): Promise<void> {
    const run = this.#runs.get(groupId);
    this.#watches.delete(groupId);
    this.#runs.delete(groupId);
    run?.ending.abort();
    await run?.ended;
    this.#failing.delete(groupId);
  }

  start(): void {
    this.#isRunning = true;
    for (const [groupId, watch] of this.#watches) this.#run(groupId, watch);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    for (const { ending } of this.#runs.values()) ending.abort();
    await Promise.all([...this.#runs.values()].map(({ ended }) => ended));
  }

  /** Whether there was news of each group, or getting it failed. */
  isComplete(groupIds: Iterable<string> = this.#watches.keys()): boolean {
    for (const groupId of groupIds) {
      if (this.known(groupId) === null && !this.#failing.has(groupId)) return false;
    }
    return true;
  }

  watch(groupId: string): LeaderWatch {
    const watch = this.#watches.get(groupId);
    if (watch === undefined) throw new Error(`group ${groupId} is not in the leader cache`);
    return watch;
  }

  /** `null` before the first news. */
  known(groupId: string): KnownLeader | null {
    return this.watch(groupId).known;
  }

  isVacant(groupId: string): boolean {
    return this.known(groupId)?.nodeId === null;
  }

  #run(groupId: string, watch: LeaderWatch): void {
    const ending = new AbortController();
    this.#runs.set(groupId, { ending, ended: watch.run(ending.signal) });
  }
}
