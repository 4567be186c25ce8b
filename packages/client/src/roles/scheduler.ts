/**
 * Makes this process campaign for the roles that fall to it and give up those that do not: it looks at the leaders and
 * the members, makes a plan, carries it out, and repeats this whenever anything has changed.
 */
import type { CancelTimer, Elector } from "@tenure/core";
import { Election } from "../election/election.js";
import type { Mandate } from "../election/state.js";
import { LeaderCache } from "./leader-cache.js";
import { CachedElector } from "./cached-elector.js";
import { Fitness } from "./fitness.js";
import { Membership } from "./membership.js";
import type { ParsedManager, ParsedRole } from "./options.js";
import { plan, type PlanUnit } from "./plan.js";
import { Role } from "./role.js";
import { RoleGraph, type RoleUnit } from "./role-graph.js";
import { RoleSets } from "./role-sets.js";
import type { RoleDemoteReason, RoleMember } from "./state.js";

/** What the scheduler reports to the manager. */
export interface SchedulerListener {
  /** The user's hook. Rejects if it failed, and the role is to be given up. */
  promoted(role: string, mandate: Mandate, signal: AbortSignal): Promise<void>;
  /** The user's hook; never rejects. */
  demoted(role: string, reason: RoleDemoteReason): Promise<void>;
  failed(role: string, error: unknown): void;
  setGivenUp(set: string): void;
  membersChanged(members: readonly RoleMember[]): void;
  shareChanged(share: number): void;
  healthChanged(healthy: boolean): void;
  /** `error`: why there was no answer; `null`: there was one. */
  contact(error: unknown): void;
}

/** This process stays out longer than the others wait for it, by this factor, so that one of them has begun by then. */
const REST_PER_PATIENCE = 2;

/** News comes in bursts: what follows within this time is part of the same plan. */
const PLAN_MS = 5;

export class Scheduler {
  readonly roles: Map<string, Role>;
  readonly leaders: LeaderCache;
  readonly #options: ParsedManager;
  readonly #listener: SchedulerListener;
  readonly #graph: RoleGraph;
  readonly #sets: RoleSets;
  readonly #membership: Membership | null;
  readonly #fitness: Fitness;
  readonly #checking = new AbortController();
  readonly #elector: Elector;
  readonly #byGroup: Map<string, Role>;
  readonly #unitsByRole: Map<string, RoleUnit>;
  readonly #strays = new Set<string>();
  /** When each member last won something, or was first seen. */
  readonly #activeAtMs = new Map<string, number>();
  /** All units but those that wait in a queue. */
  #planned: readonly RoleUnit[];
  /** Units that may be led in part, or campaigned for without a vacancy. */
  #intricate: readonly RoleUnit[];
  /** What the plan knows of each unit, until something about it changes. */
  readonly #planUnits = new Map<string, PlanUnit>();
  #cancelPlan: CancelTimer = () => {};
  #planAtMs = Number.POSITIVE_INFINITY;
  #seeking = 0;
  #hasJoined = false;
  #isStopping = false;
  #share = 0;
  #settled = (): void => {};

  /** Refuses invalid roles by name. Sends nothing yet. */
  constructor(
    elector: Elector,
    options: ParsedManager,
    specs: ReadonlyMap<string, ParsedRole>,
    listener: SchedulerListener,
  ) {
    this.#options = options;
    this.#listener = listener;
    this.#graph = new RoleGraph(specs);
    this.#unitsByRole = new Map(this.#graph.units.flatMap((unit) => unit.names.map((name) => [name, unit])));
    const memberLeases = options.spread?.memberLeases ?? [];
    this.leaders = new LeaderCache({
      elector,
      groupIds: [...memberLeases, ...[...specs.values()].map(({ groupId }) => groupId)],
      options: options.election,
      changed: (groupId) => this.#groupChanged(groupId),
      contact: (_, error) => {
        listener.contact(error);
        if (error !== null) this.#soon();
      },
    });
    this.#elector = new CachedElector(elector, this.leaders);
    this.roles = new Map(this.#graph.order.map((name) => [name, this.#role(specs.get(name) as ParsedRole)]));
    this.#planned = this.#graph.units.filter((unit) => !this.#waits(unit));
    this.#intricate = this.#graph.units.filter((unit) => unit.names.length > 1 || this.#waits(unit));
    this.#byGroup = new Map([...this.roles.values()].map((role) => [role.spec.groupId, role]));
    this.#sets = new RoleSets(
      {
        options,
        isVacant: ({ spec }) => this.leaders.isVacant(spec.groupId),
        givenUp: (set) => listener.setGivenUp(set),
      },
      this.roles.values(),
    );
    this.#fitness = new Fitness({
      options: options.election,
      changed: (isFit) => this.#fitnessChanged(isFit),
      healthChanged: (healthy) => listener.healthChanged(healthy),
    });
    this.#membership =
      options.spread === null
        ? null
        : new Membership({
            elector: this.#elector,
            leaders: this.leaders,
            options,
            spread: options.spread,
            changed: () => this.#membersChanged(),
          });
  }

  get members(): readonly RoleMember[] {
    if (this.#membership !== null) return this.#membership.members;
    return [{ nodeId: this.#options.election.nodeId, weight: 1, maxRoles: this.#options.maxRoles }];
  }

  get isHealthy(): boolean {
    return this.#fitness.isHealthy;
  }

  get share(): number {
    return this.#share;
  }

  /** Resolves when this process has campaigned once for all that falls to it, or could not; at once if it is unhealthy. */
  start(): Promise<void> {
    this.leaders.start();
    void this.#fitness.run(this.#checking.signal);
    return new Promise((resolve) => {
      this.#settled = resolve;
      this.#soon();
    });
  }

  /** Ends each role after those that depend on it; independent roles end at the same time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#checking.abort();
    this.#cancelPlan();
    await Promise.all([this.#membership?.stop(), this.#releaseAll("stopped")]);
    await this.leaders.stop();
    this.#settled();
  }

  /** A role that depends on no other and is part of no set. */
  add(spec: ParsedRole): void {
    const unit = { id: spec.name, names: [spec.name] };
    const role = this.#role(spec);
    this.roles.set(spec.name, role);
    this.#byGroup.set(spec.groupId, role);
    this.#unitsByRole.set(spec.name, unit);
    if (this.#waits(unit)) this.#intricate = [...this.#intricate, unit];
    else this.#planned = [...this.#planned, unit];
    this.leaders.add(spec.groupId);
    this.#soon();
  }

  /** A role that depends on no other, as none depends on it, and is part of no set. Resolves when its lease is given back. */
  async remove(name: string): Promise<void> {
    const role = this.#named(name);
    const isOther = ({ id }: RoleUnit) => id !== name;
    this.#planned = this.#planned.filter(isOther);
    this.#intricate = this.#intricate.filter(isOther);
    await role.release("removed");
    this.roles.delete(name);
    this.#byGroup.delete(role.spec.groupId);
    this.#unitsByRole.delete(name);
    this.#planUnits.delete(name);
    this.#strays.delete(name);
    await this.leaders.remove(role.spec.groupId);
    this.#soon();
  }

  /** Whether no other role depends on it or shares a set with it, so that it can be removed. */
  isAlone(name: string): boolean {
    return this.#named(name).spec.set === null && this.#unitsByRole.get(name)?.names.length === 1;
  }

  async #releaseAll(reason: "stopped" | "unhealthy"): Promise<void> {
    await Promise.all([...this.roles.values()].map((role) => role.release(reason)));
  }

  #fitnessChanged(isFit: boolean): void {
    if (isFit) return this.#soon();
    this.#hasJoined = false;
    void this.#membership?.leave();
    void this.#releaseAll("unhealthy");
    this.#settled();
  }

  #role(spec: ParsedRole): Role {
    const { groupId, priority, metadata, campaignWaitMs } = spec;
    return new Role(spec, {
      options: this.#options.election,
      election: () =>
        new Election(this.#elector, { ...this.#options.shared, groupId, priority, metadata, campaignWaitMs }),
      othersWaitMs: () => (this.members.length > 1 ? REST_PER_PATIENCE * this.#options.election.ttlMs : 0),
      dependents: () => this.#graph.dependents(spec.name).map((name) => this.#named(name)),
      promoted: (role, mandate, signal) => this.#listener.promoted(role.spec.name, mandate, signal),
      demoted: (role, reason) => this.#listener.demoted(role.spec.name, reason),
      failed: (role, error) => this.#listener.failed(role.spec.name, error),
      gone: (role, reason) => this.#sets.gone(role, reason),
      changed: (role) => {
        this.#planUnits.delete(this.#unitOf(role).id);
        if (role.state.kind === "won") this.#sets.won(role);
        this.#soon();
      },
    });
  }

  #groupChanged(groupId: string): void {
    const role = this.#byGroup.get(groupId);
    if (role === undefined) {
      this.#membership?.leaseChanged(groupId);
    } else {
      role.forgive();
      this.#planUnits.delete(this.#unitOf(role).id);
      const nodeId = this.leaders.known(groupId)?.nodeId ?? null;
      if (nodeId !== null) this.#isActive(nodeId);
    }
    this.#soon();
  }

  #isActive(nodeId: string): void {
    const { election } = this.#options;
    this.#activeAtMs.set(nodeId, election.clock.monotonicMs());
    // A member that seemed not to take what falls to it does take it.
    if (nodeId !== election.nodeId) this.#forgetStrays();
  }

  #membersChanged(): void {
    const { members } = this;
    for (const { nodeId } of members) if (!this.#activeAtMs.has(nodeId)) this.#isActive(nodeId);
    this.#forgetStrays();
    this.#listener.membersChanged(members);
    this.#soon();
  }

  #forgetStrays(): void {
    for (const id of this.#strays) this.#planUnits.delete(id);
    this.#strays.clear();
  }

  #soon(): void {
    this.#within(PLAN_MS);
  }

  #within(delayMs: number): void {
    const { clock } = this.#options.election;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#isStopping || atMs >= this.#planAtMs) return;
    this.#cancelPlan();
    this.#planAtMs = atMs;
    this.#cancelPlan = clock.after(delayMs, () => {
      this.#planAtMs = Number.POSITIVE_INFINITY;
      this.#carryOut();
    });
  }

  #carryOut(): void {
    if (!this.#fitness.isFit) return;
    this.#join();
    const { election } = this.#options;
    const nowMs = election.clock.monotonicMs();
    const setsInMs = this.#sets.review() - nowMs;
    const { take, release, share, againInMs } = plan({
      nowMs,
      self: election.nodeId,
      members: this.members,
      units: this.#planned.map((unit) => this.#planUnits.get(unit.id) ?? this.#planUnit(unit)),
      activeAtMs: this.#activeAtMs,
      patienceMs: election.ttlMs,
    });
    if (share !== this.#share) this.#listener.shareChanged(share);
    this.#share = share;
    for (const { id } of release) for (const role of this.#rolesOf(id)) void role.release("rebalanced");
    const begun = this.#pursue(take);
    this.#within(Math.min(againInMs, setsInMs, begun.againInMs));
    if (begun.count === 0) this.#checkSettled();
  }

  /** First what is to be taken, then what has begun already or waits in a queue. */
  #pursue(take: readonly PlanUnit[]): { count: number; againInMs: number } {
    const nowMs = this.#options.election.clock.monotonicMs();
    const open = this.#intricate.filter((unit) => this.#waits(unit) || this.#isHere(unit));
    let count = 0;
    let againInMs = Number.POSITIVE_INFINITY;
    for (const { id, isStray } of [...take, ...open.map((unit) => ({ id: unit.id, isStray: false }))]) {
      for (const role of this.#rolesOf(id)) {
        if (!this.#mayBegin(role)) continue;
        if (role.notBeforeMs > nowMs) {
          againInMs = Math.min(againInMs, role.notBeforeMs - nowMs);
        } else if (this.#seeking < this.#options.maxCampaigns) {
          count += 1;
          if (isStray) this.#strays.add(id);
          void this.#seek(role);
        }
      }
    }
    return { count, againInMs };
  }

  #mayBegin(role: Role): boolean {
    const { spec, state } = role;
    if (state.kind !== "out") return false;
    if (spec.campaignWaitMs === 0 && !this.leaders.isVacant(spec.groupId)) return false;
    const isThere = (needed: Role) =>
      needed.state.kind === "leading" ||
      (needed.isWon && needed.spec.set !== null && needed.spec.set === spec.set);
    return spec.dependsOn.every((name) => isThere(this.#named(name))) && this.#sets.mayBegin(role);
  }

  async #seek(role: Role): Promise<void> {
    this.#seeking += 1;
    this.#sets.begun(role);
    await role.seek();
    this.#seeking -= 1;
    this.#soon();
  }

  #planUnit(unit: RoleUnit): PlanUnit {
    const roles = unit.names.map((name) => this.#named(name));
    const roots = roles.filter(({ spec }) => spec.dependsOn.length === 0);
    if (!roles.some(({ isHere }) => isHere)) this.#strays.delete(unit.id);
    const nowMs = this.#options.election.clock.monotonicMs();
    const planned = {
      id: unit.id,
      size: roles.length,
      priority: Math.max(...roles.map(({ spec }) => spec.priority)),
      owner: this.#ownerOf(roles, roots),
      vacantSinceMs: nowMs - Math.min(...roots.map(({ spec }) => this.leaders.watch(spec.groupId).ageMs)),
      isStray: this.#strays.has(unit.id),
    };
    this.#planUnits.set(unit.id, planned);
    return planned;
  }

  #ownerOf(roles: readonly Role[], roots: readonly Role[]): PlanUnit["owner"] {
    if (roles.some(({ isHere }) => isHere)) return "here";
    if (roles.some(({ state }) => state.kind === "releasing")) return "unknown";
    let isKnown = true;
    for (const { spec } of roots) {
      const known = this.leaders.known(spec.groupId);
      if (known === null) isKnown = false;
      else if (known.nodeId !== null) return { nodeId: known.nodeId };
    }
    return isKnown ? "vacant" : "unknown";
  }

  /** The members are known once it is known which process holds which member lease. */
  #join(): void {
    const { spread } = this.#options;
    if (this.#hasJoined || spread === null || !this.leaders.isComplete(spread.memberLeases)) return;
    this.#hasJoined = true;
    this.#membership?.start();
  }

  #checkSettled(): void {
    const isMember = this.#membership === null || this.#membership.hasLease || this.#membership.isFull;
    if (this.#seeking === 0 && isMember && this.leaders.isComplete()) this.#settled();
  }

  #waits({ names }: RoleUnit): boolean {
    return this.#named(names[0] as string).spec.campaignWaitMs > 0;
  }

  #isHere({ names }: RoleUnit): boolean {
    return names.some((name) => this.#named(name).isHere);
  }

  #rolesOf(unitId: string): readonly Role[] {
    return (this.#unitsByRole.get(unitId)?.names ?? []).map((name) => this.#named(name));
  }

  #unitOf({ spec }: Role): RoleUnit {
    return this.#unitsByRole.get(spec.name) as RoleUnit;
  }

  #named(name: string): Role {
    return this.roles.get(name) as Role;
  }
}
