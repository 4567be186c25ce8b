/**
 * The processes that share the roles. Each process leads one of a fixed number of groups, its member lease, and
 * publishes its weight there; a process that leads a member lease takes part. So this needs nothing but the elector, a
 * member is gone exactly when its roles are, and its member lease is renewed in the same batch as its roles.
 */
import { type Elector, type Metadata, sleep } from "@tenure/core";
import { hash32, isObject, within } from "@tenure/core/internal";
import { Election } from "../election/election.js";
import { Backoff } from "../election/retry.js";
import type { LeaderCache } from "./leader-cache.js";
import type { ParsedManager, ParsedSpread } from "./options.js";
import type { RoleMember } from "./state.js";

export interface MembershipParts {
  readonly elector: Elector;
  readonly leaders: LeaderCache;
  readonly options: ParsedManager;
  readonly spread: ParsedSpread;
  readonly changed: () => void;
}

export class Membership {
  readonly #parts: MembershipParts;
  readonly #self: RoleMember;
  /** The other members, by the group of their member lease. */
  readonly #others = new Map<string, RoleMember>();
  readonly #stopping = new AbortController();
  #joining = new AbortController();
  #election: Election | null = null;
  #members: readonly RoleMember[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(parts: MembershipParts) {
    const { election, maxRoles } = parts.options;
    this.#parts = parts;
    this.#self = { nodeId: election.nodeId, weight: parts.spread.weight, maxRoles };
  }

  /** In the order of their ids. */
  get members(): readonly RoleMember[] {
    return this.#members;
  }

  get hasLease(): boolean {
    return this.#election?.isLeader() === true;
  }

  /** Other processes hold all member leases. */
  get isFull(): boolean {
    return this.#vacancies().length === 0;
  }

  /** Takes a member lease; also again after `leave`. */
  start(): void {
    const { signal } = (this.#joining = new AbortController());
    this.#running = this.#running.then(() => this.#join(signal));
  }

  /** Gives the member lease up at once, so that the other processes take over; keeps watching the other members. */
  async leave(): Promise<void> {
    this.#joining.abort();
    await this.#election?.stop();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.leave();
  }

  /** A member lease has another leader, or none. */
  leaseChanged(groupId: string): void {
    const known = this.#parts.leaders.known(groupId);
    if (known === null || known.nodeId === null) this.#set(groupId, null);
    else if (known.nodeId !== this.#self.nodeId) void this.#look(groupId, known.term);
  }

  async #look(groupId: string, term: number): Promise<void> {
    const { elector, leaders, options } = this.#parts;
    const { clock, connectionTimeoutMs, retry, random } = options.election;
    const backoff = new Backoff(retry, random);
    const { signal } = this.#stopping;
    while (!signal.aborted && leaders.known(groupId)?.term === term) {
      try {
        const { leader } = await within(clock, { limitMs: connectionTimeoutMs, signal }, (limit) =>
          elector.leader(groupId, { signal: limit }),
        );
        if (leader?.term === term) this.#set(groupId, memberOf(leader.nodeId, leader.metadata));
        return;
      } catch (error) {
        await sleep(clock, backoff.next(error), signal).catch(() => {});
      }
    }
  }

  #set(groupId: string, member: RoleMember | null): void {
    if (member === null) this.#others.delete(groupId);
    else this.#others.set(groupId, member);
    this.#tell();
  }

  #tell(): void {
    const all = [...this.#others.values(), ...(this.hasLease ? [this.#self] : [])];
    const byId = new Map(all.map((each) => [each.nodeId, each]));
    const members = [...byId.values()].toSorted((one, other) => (one.nodeId < other.nodeId ? -1 : 1));
    if (JSON.stringify(members) === JSON.stringify(this.#members)) return;
    this.#members = members;
    this.#parts.changed();
  }

  async #join(signal: AbortSignal): Promise<void> {
    const { options, leaders, spread } = this.#parts;
    const { clock, retry, random } = options.election;
    const backoff = new Backoff(retry, random);
    const first = spread.memberLeases[0] ?? "";
    try {
      for (;;) {
        const [groupId] = this.#vacancies();
        if (groupId === undefined) {
          // Any of them may become vacant. A look once in a while is enough for a member that is not needed.
          await leaders.watch(first).changed(options.election.ttlMs, signal);
        } else if (await this.#lead(groupId, signal)) {
          backoff.reset();
        } else {
          await sleep(clock, backoff.next(), signal);
        }
      }
    } catch {
      // It has left or was stopped.
    }
  }

  /** Each process begins with a different lease, so that they do not all campaign for the same one. */
  #vacancies(): readonly string[] {
    const { leaders, spread } = this.#parts;
    const { memberLeases } = spread;
    const start = hash32(this.#self.nodeId) % memberLeases.length;
    return [...memberLeases.slice(start), ...memberLeases.slice(0, start)].filter((groupId) =>
      leaders.isVacant(groupId),
    );
  }

  /** Resolves when the lease is lost; false if it was not won. */
  async #lead(groupId: string, signal: AbortSignal): Promise<boolean> {
    const { elector, options } = this.#parts;
    const { weight, maxRoles } = this.#self;
    const metadata: Metadata = { weight, most_roles: maxRoles };
    const election = new Election(elector, { ...options.shared, groupId, metadata, campaignWaitMs: 0 });
    const lost = new Promise<void>((resolve) => {
      election.onDemote(() => {
        resolve();
        void election.stop();
      });
    });
    this.#election = election;
    await election.start().catch(() => {});
    const isWon = election.isLeader();
    this.#tell();
    if (isWon && !signal.aborted) await lost;
    await election.stop();
    this.#election = null;
    this.#tell();
    signal.throwIfAborted();
    return isWon;
  }
}

function memberOf(nodeId: string, metadata: Metadata | undefined): RoleMember {
  const { weight, most_roles: maxRoles } = isObject(metadata) ? metadata : {};
  return {
    nodeId,
    weight: typeof weight === "number" && weight > 0 ? weight : 1,
    maxRoles: typeof maxRoles === "number" ? maxRoles : Number.MAX_SAFE_INTEGER,
  };
}
