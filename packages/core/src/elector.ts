/**
 * The upper port: who leads which group. An `Election`, the service and the command all use this interface, whatever is
 * behind it.
 *
 * Every verb takes a plain request and refuses a malformed one with `InvalidRequestError` before anything is written.
 * If the store does not answer, it rejects with `BackendUnavailableError`; the request may or may not have been carried
 * out. An aborted call rejects at once with the signal's reason. Its write may still happen, except that a term won by
 * a disconnected caller is taken back where the winning write is known. Calls may overlap freely; those of one group
 * take effect one at a time.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import type { GroupPolicy, PolicyInput } from "./policy.js";
import type { CallOptions } from "./store/store.js";
import type { TenureError } from "./errors.js";

/** Information that a node publishes about itself: a JSON object of at most 4 KiB, shown with the leader to every reader. */
export type Metadata = Readonly<Record<string, unknown>>;

export interface CampaignRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  /** A new id for each start of the process. Without one, the caller guarantees that one process uses its node id. */
  readonly instanceId?: string | undefined;
  readonly priority?: number | undefined;
  readonly metadata?: Metadata | undefined;
  /**
   * Whether the candidate can work as soon as it leads. `false`: it still prepares (a cold standby). While it waits, ready
   * candidates of the same server are preferred, and no leader is asked to yield to it. A vacancy that no ready candidate
   * waits for still goes to it. To become ready, campaign again with `ready: true`.
   *
   * @defaultValue `true`
   */
  readonly ready?: boolean | undefined;
  /** How long to wait for the leadership, in milliseconds, instead of being refused at once. 0 or absent: do not wait. */
  readonly waitMs?: number | undefined;
}

export interface RenewRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly term: number;
  readonly ttlMs: number;
  readonly instanceId?: string | undefined;
}

export interface ResignRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly term: number;
  readonly instanceId?: string | undefined;
}

export interface Leader {
  readonly nodeId: string;
  readonly term: number;
  /** An estimate on the answering server's wall clock, for people. A leader counts its own deadline. */
  readonly expiresAtMs: number;
  readonly metadata?: Metadata;
}

/** Why a group without a leader elects none at the moment. */
export type HeldBack = "paused" | "takeover_delay" | "banned" | "reserved" | "deposed";

export type CampaignResult =
  | {
      readonly kind: "elected";
      readonly leader: Leader;
      /** The same instance campaigned again and keeps its term. */
      readonly confirmed: boolean;
      /** How the term before this one ended, as the event of this election says; absent where the elector does not know. */
      readonly reason?: EndReason | "none";
      /** From the arrival of a waiting campaign to the sending of the write that won it. */
      readonly waitedMs?: number;
      readonly transferTo?: string;
      /** A signed proof of this lease, where the service signs them. */
      readonly mandate?: string;
    }
  | {
      readonly kind: "lost";
      readonly leader: Leader | null;
      /** Why the group elects no leader at the moment; set only if it has none. */
      readonly heldBack?: HeldBack;
      /** How long that will last; absent: until an operator acts. */
      readonly heldBackForMs?: number;
      readonly retryAfterMs: number;
    };

export interface NotLeader {
  readonly kind: "not-leader";
  readonly currentLeader: { readonly nodeId: string; readonly term: number } | null;
}

export type RenewResult =
  | {
      readonly kind: "renewed";
      readonly leader: Leader;
      /** A successor waits: finish the work, then resign. */
      readonly transferTo?: string;
      readonly mandate?: string;
    }
  | NotLeader;

/** One group's result never depends on another's. */
export type RenewManyResult = RenewResult | { readonly kind: "failed"; readonly error: TenureError };

export type ResignResult = { readonly kind: "resigned" } | NotLeader;

export interface LeaderOptions extends CallOptions {
  /** `linearizable` (default): at least as new as every change acknowledged before the call. `local`: from memory. */
  readonly consistency?: "linearizable" | "local";
}

export interface Leadership {
  /** Also `null` for a leader that was asked to step down while its lease still runs: it can no longer renew. */
  readonly leader: Leader | null;
  /** Why the group elects no leader at the moment; set only if it has none. Bans are not shown: they hold back a node. */
  readonly heldBack?: Exclude<HeldBack, "banned">;
  /** How long that will last; absent: until an operator acts. */
  readonly heldBackForMs?: number;
  /** The highest term ever given; 0 for a group never led. */
  readonly term: number;
  /** How old the answer may be at most; 0 for a linearizable one. */
  readonly ageMs: number;
}

export interface WatchOptions extends CallOptions {
  /** The number of the last event seen. Without one, the first item is the current state. */
  readonly cursor?: number | undefined;
  /**
   * How long a watch over a network may get nothing from its server before it continues at another one, in
   * milliseconds, at least 2,500. The server is asked for keep-alives more often than that. A watch that follows the
   * leader needs about half a ttl. Too small: each keep-alive costs the server a small write. Too large: a dead server
   * is noticed late. An elector within this process ignores it.
   *
   * @defaultValue 40,000
   */
  readonly silenceMs?: number | undefined;
  /**
   * How long a watch may get nothing before `onContact` reports it, in milliseconds, at least 875; it stays at its
   * server until `silenceMs`. Over a network the server is asked for a keep-alive after 4/7 of this time. An elector
   * over a store reads the store when its feed has been silent for 2/3 of it, so it sends no extra requests while a
   * leader renews.
   *
   * @defaultValue none: only a watch that cannot reach any server is reported
   */
  readonly quietMs?: number | undefined;
  /**
   * Called with the error when nothing was received for `quietMs`, or when a watch over a network cannot reach any
   * server; and with `null` when something is received again. The watch continues by itself. The function must be quick
   * and must not throw. Electors of peers never call it.
   */
  readonly onContact?: ((error: unknown) => void) | undefined;
}

/** `RESYNC`: more events were passed than are kept; this is the current state. */
export interface WatchEvent {
  readonly type: "LEADER_CHANGED" | "LEADER_LOST" | "RESYNC";
  readonly groupId: string;
  readonly cursor: number;
  readonly term: number;
  readonly leaderNodeId: string | null;
  readonly previousLeaderNodeId: string | null;
  readonly reason: EndReason | "none";
  readonly tsMs: number;
  readonly by?: string;
  /** Of `watchAll` alone: more states of the same cursor follow. A watcher that leaves here has not had all of them. */
  readonly partial?: true;
}

export interface WatchAllOptions extends WatchOptions {
  /**
   * Which groups to report. The others are skipped before events are made. The function must be quick and must not
   * throw.
   *
   * @defaultValue every group
   */
  readonly maySee?: ((groupId: string) => boolean) | undefined;
  /**
   * Continues a list of states that was cut off: first the states of the groups after `groupId`, as of `cursor`, then
   * the events after it. `resync`: whether the states were shown as RESYNC. If the elector no longer knows that time,
   * it shows all states again.
   *
   * @defaultValue the states are complete
   */
  readonly statesAfter?: { readonly groupId: string; readonly resync: boolean } | undefined;
}

/** Decides who leads: `openElector` opens one over a Tenure service or a store. Every call is for one group. */
export interface Elector extends AsyncDisposable {
  /** Wins a vacancy or an expired lease, or confirms the holder. Success is answered after a durable write of its own. */
  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult>;
  /** Keeps the lease. Never shortens it. */
  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult>;
  /** Renewals of several groups, each group named once, with one result per request in its place. */
  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]>;
  /** Gives the leadership back. Repeated after a lost answer, it returns `resigned` again. */
  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult>;
  /** Returns what the record says. Reads never decide whether a lease has expired. */
  leader(groupId: string, options?: LeaderOptions): Promise<Leadership>;
  /**
   * Events in order, none skipped and none repeated within the last 64; past that one RESYNC. Pulled: a slow reader
   * costs nothing. Ends only by throwing: the signal's reason, `ClosedError` or `BackendUnavailableError` (watch
   * again from the last cursor).
   */
  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent>;
  /** Idempotent. Waiting campaigns are answered `lost`, watches end, work in flight is waited for. */
  close(): Promise<void>;
}

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
  /** Apart from a pause: why no node, or only a successor, can win. `null`: nothing holds the group back. */
  readonly heldBack: GroupHold | null;
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
   * Who asks; shown in the event if the change deposes the leader.
   * @defaultValue `"operator"`
   */
  readonly by?: string | undefined;
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
  /** For the audit log of a service; a store alone keeps none. */
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
  /** Without it until resumed. */
  readonly forMs?: number | undefined;
  readonly reason?: string | undefined;
}

export interface ResumeRequest {
  readonly groupId: string;
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

/** The verbs of an operator. Each rejects with `ConflictError` if the group's state does not allow it. */
export interface ElectorAdmin extends Elector {
  createGroup(input: GroupInput, options?: CallOptions): Promise<Group>;
  /** Merges `policy` into the present one; `allowedNodes` replaces. `GroupNotFoundError` where there is no group. */
  updateGroup(input: GroupInput, options?: CallOptions): Promise<Group>;
  /** Empties the record; term and event number survive. A led group needs `force`. `GroupNotFoundError` as above. */
  deleteGroup(
    request: { groupId: string; by: string; force?: boolean | undefined },
    options?: CallOptions,
  ): Promise<void>;
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
  /** The last events, oldest first, at most 64. */
  history(groupId: string, options?: CallOptions): Promise<readonly LeadershipEvent[]>;
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
