/** Collects what `tenure top` shows. Costly requests (history, members) are sent for a few groups at a time. */
import type { Clock, ElectorAdmin, Group, LeadershipEvent, Member } from "@tenure/core";
import { type GroupState, stateOf } from "../commands/group-state.js";
import { allGroups } from "../commands/groups-command.js";
import { memberCount } from "../commands/tell-group.js";
import type { GroupDetail } from "./pages.js";
import { changesPerHour, isFlapping } from "./rate.js";
import type { Health, Row } from "./state.js";

interface Extra {
  /** The term and leader whose history is known. */
  historyOf: string | null;
  events: readonly LeadershipEvent[];
  members: readonly Member[] | null;
  membersAtMs: number;
}

export interface CollectorOptions {
  readonly elector: ElectorAdmin;
  readonly clock: Clock;
  readonly target: string;
  readonly prefix?: string | undefined;
  readonly signal: AbortSignal;
  /** How far the server's wall clock is ahead of ours. */
  readonly offsetMs: () => number;
}

const MEMBERS_EVERY_MS = 5000;
const AT_ONCE = 8;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #extras = new Map<string, Extra>();
  #groups: readonly Group[] = [];
  #detail: Omit<GroupDetail, "nowMs"> | null = null;
  #health: Health;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#health = { target: options.target, roundTripMs: null, problem: "asking" };
  }

  get health(): Health {
    return this.#health;
  }

  /** What was last known of the group that `open` named. */
  get detail(): GroupDetail | null {
    return this.#detail === null ? null : { ...this.#detail, nowMs: this.#nowMs() };
  }

  /** Rejects only with the signal's reason. If the server does not answer, `health` shows that. */
  async refresh(): Promise<void> {
    const { elector, clock, signal, target, prefix } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      await elector.ping({ signal });
      const roundTripMs = clock.monotonicMs() - startedMs;
      const groups: Group[] = [];
      for await (const group of allGroups(elector, prefix, signal)) groups.push(group);
      this.#groups = groups;
      this.#health = { target, roundTripMs, problem: null };
    } catch (error) {
      signal.throwIfAborted();
      this.#health = { target, roundTripMs: null, problem: `no response: ${(error as Error).message}` };
    }
  }

  rows(): Row[] {
    const nowMs = this.#nowMs();
    return this.#groups.map((group) => {
      const { groupId, leader, leaseTtlMs, term } = group;
      const extra = this.#extra(groupId);
      // A lease ends a little later than its ttl, and the clock offset is known to half a second: neither is shown.
      const leftMs =
        leader === null ? null : Math.min(leader.expiresAtMs - nowMs, leaseTtlMs ?? Number.POSITIVE_INFINITY);
      return {
        groupId,
        state: withFlapping(stateOf(group), extra.events, nowMs),
        leader: leader?.nodeId ?? null,
        term,
        leftMs,
        fullMs: leaseTtlMs ?? 0,
        changesPerHour: extra.historyOf === null ? null : changesPerHour(extra.events, nowMs),
        members: extra.members === null ? null : memberCount(group, extra.members),
      };
    });
  }

  /** Of these groups, the first `most` of which something is missing or old. */
  async details(groupIds: readonly string[], most: number): Promise<void> {
    const versions = new Map(this.#groups.map((group) => [group.groupId, versionOf(group)]));
    const nowMs = this.#options.clock.monotonicMs();
    const stale = groupIds.filter((groupId) => {
      const extra = this.#extra(groupId);
      return extra.historyOf !== versions.get(groupId) || nowMs - extra.membersAtMs > MEMBERS_EVERY_MS;
    });
    const queue = stale.slice(0, most);
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#drain(queue, versions)));
  }

  /** Requests everything that the page of a group shows. */
  async open(groupId: string): Promise<void> {
    const { elector, signal } = this.#options;
    try {
      const [group, members, history] = await Promise.all([
        elector.group(groupId, { signal }),
        elector.members(groupId, { signal }),
        elector.history(groupId, { signal }),
      ]);
      this.#detail = { group, members, history };
    } catch {
      signal.throwIfAborted();
      // The group may have been deleted, or the server does not answer: the next refresh shows which.
    }
  }

  async #drain(queue: string[], versions: ReadonlyMap<string, string>): Promise<void> {
    const { elector, signal, clock } = this.#options;
    for (let groupId = queue.shift(); groupId !== undefined; groupId = queue.shift()) {
      const extra = this.#extra(groupId);
      try {
        const version = versions.get(groupId) ?? null;
        const [history, members] = await Promise.all([
          extra.historyOf === version ? null : elector.history(groupId, { signal }),
          elector.members(groupId, { signal }),
        ]);
        if (history !== null) {
          extra.events = history.events;
          extra.historyOf = version;
        }
        extra.members = members;
        extra.membersAtMs = clock.monotonicMs();
      } catch {
        signal.throwIfAborted();
        // The group may have been deleted, or the server does not answer: the next refresh shows which.
      }
    }
  }

  #nowMs(): number {
    return this.#options.clock.wallMs() + this.#options.offsetMs();
  }

  #extra(groupId: string): Extra {
    let extra = this.#extras.get(groupId);
    if (extra === undefined) {
      const never = Number.NEGATIVE_INFINITY;
      extra = { historyOf: null, events: [], members: null, membersAtMs: never };
      this.#extras.set(groupId, extra);
    }
    return extra;
  }
}

/** Changes with every event of the group: a term begins and ends. */
function versionOf({ term, leader }: Group): string {
  return `${term} ${leader === null ? "vacant" : "led"}`;
}

function withFlapping(state: GroupState, events: readonly LeadershipEvent[], nowMs: number): GroupState {
  const isCalm = state === "led" || state === "vacant";
  return isCalm && isFlapping(events, nowMs) ? "flapping" : state;
}
