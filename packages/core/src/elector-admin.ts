/**
 * The upper port for operators: groups and their policies, members, history, and the acts of operators. It extends
 * `Elector`, with the same rules for requests and errors.
 */
import type { Elector, HeldBack, Leader, Metadata, WatchAllOptions, WatchEvent } from "./elector.js";
import type { TenureError } from "./errors.js";
import type { GroupHistory } from "./history.js";
import type { GroupAct } from "./operator-act.js";
import type { GroupPolicy, PolicyInput } from "./policy.js";
import type { CallOptions } from "./store/store.js";

export interface Group {
  readonly groupId: string;
  /** Created by an operator, not merely by a campaign. */
  readonly explicit: boolean;
  readonly policy: GroupPolicy;
  readonly allowedNodes: readonly string[] | null;
  readonly leader: Leader | null;
  /** The `ttlMs` of the leader's last renewal; `null` without a leader. */
  readonly leaseTtlMs: number | null;
  readonly term: number;
  readonly pausedForMs: number | "until-resumed" | null;
  /** Who paused the group, and why; `null`: it is not paused, or the server that paused it did not keep this. */
  readonly pause: { readonly by: string; readonly reason: string | null; readonly sinceMs: number } | null;
  /** Nodes that may not win for some time. */
  readonly bans: readonly GroupBan[];
  /** Apart from a pause: why no node, or only a successor, can win. `null`: nothing holds the group back. */
  readonly heldBack: GroupHold | null;
}

export interface GroupBan {
  readonly nodeId: string;
  /** How much longer the ban lasts. */
  readonly forMs: number;
  /** `null`: the server that wrote the ban did not keep it. */
  readonly by: string | null;
  readonly reason: string | null;
}

/** Bans are not included: they hold back a node, not a group. */
export interface GroupHold {
  readonly by: Extract<HeldBack, "deposed" | "reserved" | "takeover_delay">;
  /** How long it will last. */
  readonly forMs: number;
}

export interface GroupsOptions extends CallOptions {
  /**
   * Which groups to list. The others are passed over before pages are made: a page is full if enough groups follow, and its
   * cursor is the id of its last group. Called once for each group at most; it must be quick and must not throw.
   *
   * @defaultValue every group
   */
  readonly maySee?: ((groupId: string) => boolean) | undefined;
}

export interface GroupInput {
  readonly groupId: string;
  /**
   * The operator's name; shown in the acts of the group, and in the event if the change deposes the leader.
   * @defaultValue `"operator"`
   */
  readonly by?: string | undefined;
  /** Shown in the acts of the group. */
  readonly reason?: string | undefined;
  readonly policy?: PolicyInput | undefined;
  /** `null` or absent: every node. A leader that is not among the nodes is deposed, as by a step-down. */
  readonly allowedNodes?: readonly string[] | null | undefined;
}

/** An operator asks the leader to step down. */
export interface StepDownRequest {
  readonly groupId: string;
  /** The operator's name; shown in the event. */
  readonly by: string;
  /** How long the node may not win again, in milliseconds. */
  readonly banMs?: number | undefined;
  /** Free the group at once, without waiting for the lease to expire. Only the term then fences the old leader. */
  readonly force?: boolean | undefined;
  /** Shown in the acts of the group. */
  readonly reason?: string | undefined;
}

/** An operator hands the leadership to a candidate that is waiting. */
export interface TransferRequest {
  readonly groupId: string;
  /**
   * The successor. A node that waits nowhere, or that is not ready, is refused with `ConflictError`.
   *
   * @defaultValue the best ready candidate of those that wait at this server, as for a vacancy; otherwise the one that
   * was last seen at another server. `ConflictError` if there is none.
   */
  readonly toNodeId?: string | undefined;
  readonly by: string;
  readonly timeoutMs?: number | undefined;
  /**
   * Whether the successor may be a candidate that is not ready yet.
   *
   * @defaultValue `false`
   */
  readonly allowCold?: boolean | undefined;
  readonly reason?: string | undefined;
}

export interface PauseRequest {
  readonly groupId: string;
  /**
   * The operator's name; shown with the pause.
   * @defaultValue `"operator"`
   */
  readonly by?: string | undefined;
  /** Without it until resumed. */
  readonly forMs?: number | undefined;
  /**
   * Whether a group that does not exist yet is created, paused. Otherwise it is refused with `GroupNotFoundError`.
   * @defaultValue `false`
   */
  readonly create?: boolean | undefined;
  readonly reason?: string | undefined;
}

export interface ResumeRequest {
  readonly groupId: string;
  /**
   * The operator's name.
   * @defaultValue `"operator"`
   */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

export interface HeartbeatRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly metadata?: Metadata | undefined;
  /**
   * Whether the node can work as soon as it leads. A leader that was elected cold reports this way that it has become
   * ready.
   *
   * @defaultValue what the node reported last; a node that never reported it counts as ready
   */
  readonly ready?: boolean | undefined;
}

export interface Member {
  readonly nodeId: string;
  readonly role: "leader" | "candidate" | "observer";
  /** Whether it can work as soon as it leads, as it said last. */
  readonly ready: boolean;
  /** On the wall clock of the server that saw it. */
  readonly lastHeartbeatMs: number;
  readonly metadata?: Metadata;
}

/** Whether a participant is still there, judged by the time since its last heartbeat, campaign or renewal. */
export interface MemberHealth extends Member {
  /**
   * `suspect`: silent for longer than its regular interval, or since its lease as leader expired. `down`: silent for so
   * much longer that it is no longer a member.
   */
  readonly state: "healthy" | "suspect" | "down";
  /** A short explanation for people. */
  readonly reason: string;
  /** Start of this state, on the wall clock of the server that saw it. */
  readonly sinceMs: number;
}

/** Which acts to list. */
export interface AuditQuery {
  readonly groupId?: string | undefined;
  /** Only acts of this operator. */
  readonly by?: string | undefined;
  /** 1 to 1000, default 100. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly cursor?: string | undefined;
}

export interface DeleteRequest {
  readonly groupId: string;
  readonly by: string;
  /** Also a group that is led. */
  readonly force?: boolean | undefined;
  readonly reason?: string | undefined;
}

/**
 * The verbs of an operator. Each rejects with `ConflictError` if the group's state does not allow it, and with
 * `GroupNotFoundError` if there is no such group.
 */
export interface ElectorAdmin extends Elector {
  createGroup(input: GroupInput, options?: CallOptions): Promise<Group>;
  /** Merges `policy` into the present one; `allowedNodes` replaces. `GroupNotFoundError` where there is no group. */
  updateGroup(input: GroupInput, options?: CallOptions): Promise<Group>;
  /** Empties the record; term and event number survive. A led group needs `force`. `GroupNotFoundError` as above. */
  deleteGroup(request: DeleteRequest, options?: CallOptions): Promise<void>;
  /** `GroupNotFoundError` where there never was such a group, or it was deleted and not led since. */
  group(groupId: string, options?: CallOptions): Promise<Group>;
  /** In order of id, after `cursor` (an id, not necessarily of a group that exists). */
  groups(
    query?: { prefix?: string | undefined; limit?: number | undefined; cursor?: string | undefined },
    options?: GroupsOptions,
  ): Promise<{ readonly groups: readonly Group[]; readonly cursor: string | null }>;
  stepDown(request: StepDownRequest, options?: CallOptions): Promise<void>;
  /** Resolves with the new leader once the successor leads; `ConflictError` if it did not come to that in time. */
  transfer(request: TransferRequest, options?: CallOptions): Promise<Leader>;
  pause(request: PauseRequest, options?: CallOptions): Promise<void>;
  resume(request: ResumeRequest, options?: CallOptions): Promise<void>;
  /** A heartbeat of a node that does not campaign. */
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<void>;
  /** The nodes that were heard of in the last 30 seconds, if the elector keeps members. */
  members(groupId: string, options?: CallOptions): Promise<readonly Member[]>;
  /** The members, and those that were members within the last ten minutes. */
  health(groupId: string, options?: CallOptions): Promise<readonly MemberHealth[]>;
  /**
   * Events of all groups: those of one group in order, none skipped and none repeated. Without a cursor the state of
   * each led group comes first; from a cursor that is too old, the state of every group, each as a RESYNC. A cursor is
   * valid at every elector of the store. If an elector cannot determine which events of a group a watcher has had, it
   * shows that group as a RESYNC. States come in order of id; only the cursor of the last one covers all of them
   * (`partial`). These cursors are not those of `watch`.
   */
  watchAll(options?: WatchAllOptions): AsyncIterable<WatchEvent>;
  /** Resolves if the store answers; `BackendUnavailableError` if it does not. */
  ping(options?: CallOptions): Promise<void>;
  /** The last events and the last acts of operators, oldest first, at most 64 of each. */
  history(groupId: string, options?: CallOptions): Promise<GroupHistory>;
  /**
   * The acts of operators in all groups, newest first: the last 1,000 that the server knows of. With `groupId`, the last 64
   * acts of that group.
   */
  audit(
    query?: AuditQuery,
    options?: GroupsOptions,
  ): Promise<{ readonly acts: readonly GroupAct[]; readonly cursor: string | null }>;
}

/** One of several groups that are watched together. */
export interface GroupWatch {
  readonly groupId: string;
  /** As in `WatchOptions`. */
  readonly cursor?: number | undefined;
}

/** The next event of one group, or why it can no longer be watched; the other groups continue. */
export type WatchManyItem = WatchEvent | { readonly groupId: string; readonly error: TenureError };

/** What a service needs in addition: one reader for the many groups of a stream. */
export interface ServiceElector extends ElectorAdmin {
  /**
   * Several groups, each named once, watched as one: for each of them what `watch` shows. Items that are ready at the same time come
   * together. Pulled: a slow reader costs nothing. Ends only by throwing, as `watch` does.
   */
  watchMany(watches: readonly GroupWatch[], options?: CallOptions): AsyncIterable<readonly WatchManyItem[]>;
}
