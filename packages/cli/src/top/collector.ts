/** Collects what `tenure top` shows. Costly requests (history, members) are sent for a few groups at a time. */
import type { Clock, ElectorAdmin, Group } from "@tenure/core";
import { allGroups } from "../commands/groups-command.js";
import type { Health, Row } from "./state.js";

interface Extra {
  /** The term whose history is known, and when its terms began, on the servers' wall clocks. */
  historyTerm: number;
  begunAtMs: readonly number[];
  members: number | null;
  membersAtMs: number;
}

export interface CollectorOptions {
  readonly elector: ElectorAdmin;
  readonly clock: Clock;
  readonly target: string;
  readonly signal: AbortSignal;
  /** How far the server's wall clock is ahead of ours. */
  readonly offsetMs: () => number;
}

const HOUR_MS = 3_600_000;
const MEMBERS_EVERY_MS = 5000;
const AT_ONCE = 8;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #extras = new Map<string, Extra>();
  #groups: readonly Group[] = [];
  #health: Health;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#health = { target: options.target, roundTripMs: null, problem: "asking" };
  }

  get health(): Health {
    return this.#health;
  }

  /** Rejects only with the signal's reason. If the server does not answer, `health` shows that. */
  async refresh(): Promise<void> {
    const { elector, clock, signal, target } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      await elector.ping({ signal });
      const roundTripMs = clock.monotonicMs() - startedMs;
      const groups: Group[] = [];
      for await (const group of allGroups(elector, undefined, signal)) groups.push(group);
      this.#groups = groups;
      this.#health = { target, roundTripMs, problem: null };
    } catch (error) {
      signal.throwIfAborted();
      this.#health = { target, roundTripMs: null, problem: `no response: ${(error as Error).message}` };
    }
  }

  rows(): Row[] {
    const { clock, offsetMs } = this.#options;
    const nowMs = clock.wallMs() + offsetMs();
    return this.#groups.map(({ groupId, leader, leaseTtlMs, term, pausedForMs, heldBack }) => {
      const extra = this.#extra(groupId);
      // A lease ends a little later than its ttl, and the clock offset is known to half a second: neither is shown.
      const leftMs =
        leader === null ? null : Math.min(leader.expiresAtMs - nowMs, leaseTtlMs ?? Number.POSITIVE_INFINITY);
      const isKnown = extra.historyTerm >= 0;
      return {
        groupId,
        leader: leader?.nodeId ?? null,
        term,
        leftMs,
        fullMs: leaseTtlMs ?? 0,
        changesPerHour: isKnown ? extra.begunAtMs.filter((atMs) => nowMs - atMs < HOUR_MS).length : null,
        members: extra.members,
        isPaused: pausedForMs !== null,
        isHeldBack: heldBack !== null,
      };
    });
  }

  /** Of these groups, the first `most` of which something is missing or old. */
  async detail(groupIds: readonly string[], most: number): Promise<void> {
    const terms = new Map(this.#groups.map(({ groupId, term }) => [groupId, term]));
    const nowMs = this.#options.clock.monotonicMs();
    const stale = groupIds.filter((groupId) => {
      const extra = this.#extra(groupId);
      return extra.historyTerm !== terms.get(groupId) || nowMs - extra.membersAtMs > MEMBERS_EVERY_MS;
    });
    const queue = stale.slice(0, most);
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#drain(queue, terms)));
  }

  async #drain(queue: string[], terms: ReadonlyMap<string, number>): Promise<void> {
    const { elector, signal, clock } = this.#options;
    for (let groupId = queue.shift(); groupId !== undefined; groupId = queue.shift()) {
      const extra = this.#extra(groupId);
      try {
        const isNew = extra.historyTerm !== terms.get(groupId);
        const [events, members] = await Promise.all([
          isNew ? elector.history(groupId, { signal }) : null,
          elector.members(groupId, { signal }),
        ]);
        if (events !== null) {
          extra.begunAtMs = events.filter(({ type }) => type === "LEADER_CHANGED").map(({ tsMs }) => tsMs);
          extra.historyTerm = terms.get(groupId) ?? 0;
        }
        extra.members = members.length;
        extra.membersAtMs = clock.monotonicMs();
      } catch {
        signal.throwIfAborted();
        // The group may have been deleted, or the server does not answer: the next refresh shows which.
      }
    }
  }

  #extra(groupId: string): Extra {
    let extra = this.#extras.get(groupId);
    if (extra === undefined) {
      const never = Number.NEGATIVE_INFINITY;
      extra = { historyTerm: -1, begunAtMs: [], members: null, membersAtMs: never };
      this.#extras.set(groupId, extra);
    }
    return extra;
  }
}
