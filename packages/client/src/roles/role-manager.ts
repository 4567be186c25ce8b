/**
 * Many roles in one process, over one elector. Each role is an election, all are renewed in one batch, and the process
 * campaigns for a role when the watch shows that it is vacant.
 *
 * Promised: what `Election` promises, for each role. A role is led only while those that it depends on are, and its
 * work ends before theirs. Of a set, all roles are led or none. With `spread`, each process comes to lead its share by
 * weight, to within one role, and a role moves only if one process has too many and another too few. Not promised: that
 * the processes agree at every moment. While a process comes or goes a role may move twice; it never has two leaders.
 */
import { type Elector, InvalidRequestError } from "@tenure/core";
import { Broadcast } from "../election/broadcast.js";
import { NotLeadingError } from "../election/errors.js";
import { endsByItsSignal } from "../election/hooks.js";
import { isPermanent } from "../election/retry.js";
import type { ConnectionStatus, Mandate } from "../election/state.js";
import type { Logger } from "../election/telemetry.js";
import { offStack } from "../election/user-code.js";
import {
  type ParsedManager,
  type ParsedRole,
  parseManager,
  parseRole,
  type RoleManagerOptions,
  type RoleOptions,
} from "./options.js";
import type { Role } from "./role.js";
import { Scheduler, type SchedulerListener } from "./scheduler.js";
import type { RoleDemoteReason, RoleEvent, RoleManagerStatus, RoleMetrics, RoleStatus } from "./state.js";

export type RolePromoteHook = (role: string, mandate: Mandate, signal: AbortSignal) => unknown;
export type RoleDemoteHook = (role: string, reason: RoleDemoteReason) => unknown;

/** Many roles in one process: one election each, over one elector, with one batch of renewals. */
export class RoleManager implements AsyncDisposable {
  readonly #elector: Elector;
  readonly #options: ParsedManager;
  readonly #specs = new Map<string, ParsedRole>();
  readonly #removals = new Map<string, Promise<void>>();
  readonly #events = new Broadcast<RoleEvent>();
  readonly #logger: Logger;
  readonly #metrics: RoleMetrics;
  #promoteHook: RolePromoteHook | null = null;
  #demoteHook: RoleDemoteHook | null = null;
  #scheduler: Scheduler | null = null;
  #state: RoleManagerStatus["state"] = "idle";
  #connection: ConnectionStatus = "unknown";
  #led = 0;
  #started: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;

  /** Sends nothing yet. The manager does not close the elector. */
  constructor(elector: Elector, options: RoleManagerOptions) {
    this.#elector = elector;
    this.#options = parseManager(options);
    const { election, roleMetrics } = this.#options;
    // If the logger itself fails, there is nowhere left to report it.
    this.#logger = offStack(election.logger, () => {});
    this.#metrics = offStack(roleMetrics, (error) =>
      this.#logger.error({ node: election.nodeId, err: error }, "roleMetrics failed"),
    );
  }

  /** Adds a role. A role added after `start` can neither depend on others nor be part of a set. */
  add(name: string, options: RoleOptions = {}): this {
    this.#checkNotStopped("add");
    const role = parseRole(name, options, this.#options);
    if (this.#specs.has(name)) throw new InvalidRequestError("role", `${name} was added already`);
    const memberLeases = this.#options.spread?.memberLeases ?? [];
    const isTaken = [...this.#specs.values()].some(({ groupId }) => groupId === role.groupId);
    if (isTaken || memberLeases.includes(role.groupId)) {
      throw new InvalidRequestError("groupId", `${role.groupId} of role ${name} is used already`);
    }
    if (this.#scheduler !== null && (role.dependsOn.length > 0 || role.set !== null)) {
      const field = role.set === null ? "dependsOn" : "set";
      throw new InvalidRequestError(field, `of role ${name} must be given before start`);
    }
    this.#specs.set(name, role);
    this.#scheduler?.add(role);
    return this;
  }

  /**
   * Gives a role up, with reason `removed`, and no longer campaigns for it. Resolves when its work has ended and its
   * lease was given back. After `start` it must be a role that depends on no other, that no other depends on, and that
   * is part of no set.
   */
  remove(name: string): Promise<void> {
    const removal = this.#removals.get(name) ?? this.#remove(name).finally(() => this.#removals.delete(name));
    this.#removals.set(name, removal);
    return removal;
  }

  /**
   * Called at each promotion to a role. Its promise is awaited before the role's lease is given back. If it rejects
   * before its signal aborts, the role is given up (see `onPromoteFailure`).
   */
  onRolePromote(hook: RolePromoteHook): this {
    this.#checkIdle("onRolePromote");
    if (this.#promoteHook !== null) throw hookGiven("onRolePromote");
    this.#promoteHook = hook;
    return this;
  }

  /** Called once after each `onRolePromote`, when its promise has settled. */
  onRoleDemote(hook: RoleDemoteHook): this {
    this.#checkIdle("onRoleDemote");
    if (this.#demoteHook !== null) throw hookGiven("onRoleDemote");
    this.#demoteHook = hook;
    return this;
  }

  /**
   * Campaigns for the roles until stopped. Resolves when this process has campaigned once for everything that falls to
   * it, or could not; then it keeps trying. While the health check fails it campaigns for nothing, and this resolves at
   * once. Rejects if roles depend on each other in a circle, or on a role that does not exist.
   */
  start(): Promise<void> {
    if (this.#stopped !== null)
      return Promise.reject(new NotLeadingError("the role manager was stopped; create another one"));
    this.#started ??= this.#start();
    return this.#started;
  }

  /**
   * Idempotent. Resolves when all work has ended and all leases were given back, each role before those that it depends
   * on.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Whether this process may act in that role right now. */
  isLeader(role: string): boolean {
    return this.#scheduler?.roles.get(role)?.isLeader() ?? false;
  }

  /** While leading: the term and identity to send with every act in that role. */
  mandate(role: string): Mandate | null {
    return this.#scheduler?.roles.get(role)?.mandate() ?? null;
  }

  /** The roles that this process leads. */
  led(): readonly string[] {
    const roles = [...(this.#scheduler?.roles.values() ?? [])];
    return roles.filter((role) => role.isLeader()).map(({ spec }) => spec.name);
  }

  status(): RoleManagerStatus {
    const scheduler = this.#scheduler;
    const isUnhealthy = this.#state === "running" && scheduler?.isHealthy === false;
    return {
      state: isUnhealthy ? "unhealthy" : this.#state,
      roles: [...(scheduler?.roles.values() ?? [])].map((role) => this.#roleStatus(role)),
      led: this.led().length,
      share: scheduler?.share ?? 0,
      members: scheduler?.members ?? [],
      connection: this.#connection,
    };
  }

  /** All events from now on, until the manager stops. */
  changes(options: { readonly signal?: AbortSignal } = {}): AsyncIterableIterator<RoleEvent> {
    return this.#events.read(options.signal);
  }

  async #remove(name: string): Promise<void> {
    this.#checkNotStopped("remove");
    if (!this.#specs.has(name)) throw new InvalidRequestError("role", `${name} was not added`);
    if (this.#scheduler?.isAlone(name) === false) {
      const problem = `${name} cannot be removed: other roles depend on it, it depends on others, or it is part of a set`;
      throw new InvalidRequestError("role", problem);
    }
    await this.#scheduler?.remove(name);
    this.#specs.delete(name);
  }

  async #start(): Promise<void> {
    this.#scheduler = new Scheduler(this.#elector, this.#options, this.#specs, this.#listener());
    this.#state = "running";
    await this.#scheduler.start();
  }

  async #stop(): Promise<void> {
    this.#state = "stopping";
    await this.#scheduler?.stop();
    this.#state = "stopped";
    this.#events.emit({ kind: "stopped" });
    this.#events.end();
  }

  #listener(): SchedulerListener {
    const { nodeId } = this.#options.election;
    const [logger, roleMetrics] = [this.#logger, this.#metrics];
    return {
      promoted: (role, mandate, signal) => this.#promoted(role, mandate, signal),
      demoted: (role, reason) => this.#demoted(role, reason),
      failed: (role, error) => {
        logger.error({ node: nodeId, role, err: error }, "campaign for the role failed");
        this.#events.emit({ kind: "role-failed", role, error });
      },
      setGivenUp: (set) => {
        logger.info({ node: nodeId, set }, "gave the set up: not all of its roles were won in time");
        this.#events.emit({ kind: "set-given-up", set });
      },
      membersChanged: (members) => {
        logger.info({ node: nodeId, members: members.map((each) => each.nodeId) }, "members changed");
        roleMetrics.members(nodeId, members.length);
        this.#events.emit({ kind: "members-changed", members });
      },
      shareChanged: (share) => roleMetrics.share(nodeId, share),
      healthChanged: (healthy) => {
        logger[healthy ? "info" : "warn"]({ node: nodeId, healthy }, healthy ? "healthy again" : "unhealthy");
        this.#events.emit({ kind: "health", healthy });
      },
      contact: (error) => {
        this.#connection = error === null || isPermanent(error) ? "connected" : "disconnected";
      },
    };
  }

  async #promoted(role: string, mandate: Mandate, signal: AbortSignal): Promise<void> {
    const { nodeId, onPromoteFailure } = this.#options.election;
    this.#metrics.promoted(nodeId);
    this.#metrics.led(nodeId, (this.#led += 1));
    this.#events.emit({ kind: "role-promoted", role, mandate });
    try {
      await this.#promoteHook?.(role, mandate, signal);
    } catch (error) {
      if (endsByItsSignal(error, signal)) return;
      this.#hookFailed(role, "onRolePromote", error);
      if (signal.aborted || onPromoteFailure === "keep") return;
      this.#logger.warn({ node: nodeId, role }, "gave the role up because onRolePromote failed");
      throw error;
    }
  }

  async #demoted(role: string, reason: RoleDemoteReason): Promise<void> {
    const { nodeId } = this.#options.election;
    try {
      await this.#demoteHook?.(role, reason);
    } catch (error) {
      this.#hookFailed(role, "onRoleDemote", error);
    }
    this.#metrics.demoted(nodeId, reason);
    this.#metrics.led(nodeId, (this.#led -= 1));
    this.#events.emit({ kind: "role-demoted", role, reason });
  }

  #hookFailed(role: string, hook: string, error: unknown): void {
    const { nodeId } = this.#options.election;
    this.#logger.error({ node: nodeId, role, hook, err: error }, "hook failed");
    this.#events.emit({ kind: "hook-failed", role, hook, error });
  }

  #roleStatus(role: Role): RoleStatus {
    const known = this.#scheduler?.leaders.known(role.spec.groupId) ?? null;
    return {
      role: role.spec.name,
      state: role.state,
      isLeader: role.isLeader(),
      leaderId: known?.nodeId ?? null,
      term: known?.term ?? 0,
      error: role.error,
    };
  }

  #checkNotStopped(name: string): void {
    if (this.#stopped !== null) throw new InvalidRequestError(name, "must be called before stop");
  }

  #checkIdle(name: string): void {
    if (this.#started !== null) throw new InvalidRequestError(name, "must be called before start");
  }
}

function hookGiven(name: string): InvalidRequestError {
  return new InvalidRequestError(name, "has a hook already; call both from one function");
}
