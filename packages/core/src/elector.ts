/**
 * The upper port: who leads which group. An `Election`, the service and the command all speak to this, whatever is
 * behind it.
 *
 * Every verb takes a plain request, refuses what is malformed with `InvalidRequestError` before anything is written, and
 * rejects with `BackendUnavailableError` when the store does not answer: that tells nothing, neither yes nor no. An
 * aborted call rejects with the signal's reason at once; its write may still happen, except that a term
 * won by a caller who is gone is taken back where the winning write is known. Calls may overlap freely; those of one group take effect one at a time.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import type { GroupPolicy, PolicyInput } from "./policy.js";
import type { CallOptions } from "./store/store.js";
import type { TenureError } from "./errors.js";

/** What a node says of itself: a JSON object of at most 4 KiB, shown to everybody with the leader. */
export type Metadata = Readonly<Record<string, unknown>>;

export interface CampaignRequest {
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  /** Drawn afresh at each start of the process. Without one, the caller vouches that its node id names one process. */
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
  /** Wait up to so long for the leadership instead of being refused at once. */
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

/** Why a vacant group elects no one just now. */
export type HeldBack = "paused" | "takeover_delay" | "banned" | "reserved" | "deposed";

export type CampaignResult =
  | {
      readonly kind: "elected";
      readonly leader: Leader;
      /** The same instance asked again and keeps its term. */
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
      /** Why the group elects no one just now, where it has no leader. */
      readonly heldBack?: HeldBack;
      /** What is left of that; absent: until somebody acts. */
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
      /** Somebody waits to take over: finish, then resign. */
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
  /** `null` also for a leader that was asked to step down while its lease still runs: it may renew no more. */
  readonly leader: Leader | null;
  /** Why the group elects no one just now, where it has no leader. Bans are not shown: they hold back a node. */
  readonly heldBack?: Exclude<HeldBack, "banned">;
  /** What is left of that; absent: until somebody acts. */
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
   * How long a watch over a network may hear nothing from its server before it goes on at another one, in milliseconds, at least
   * 2,500. The server is asked to give a sign of life more often. A watch that follows who leads needs about half a ttl; each
   * sign of life costs the server a small write. An elector within this process has no such silence and ignores it.
   *
   * @defaultValue 40,000
   */
  readonly silenceMs?: number | undefined;
  /**
   * How long nothing may be heard before `onContact` reports that, in milliseconds, at least 875. The watch stays where it is until
   * `silenceMs`. Over a network the server is asked for a sign of life more often, after 4/7 of it. An elector over a store
   * reads the store when its feed has been silent for 2/3 of it, so nothing more is asked while a leader renews.
   *
   * @defaultValue none: only a watch that cannot reach any server is reported
   */
  readonly quietMs?: number | undefined;
  /**
   * Called with the error when nothing was heard for `quietMs`, or when a watch over a network cannot reach any server; and with
   * `null` when something is heard again. The watch goes on by itself in both cases. It must be quick and must not throw. Electors
   * of peers never call it.
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
   * Which groups to tell of. The others are passed over before events are made. It must be quick and must not throw.
   *
   * @defaultValue every group
   */
  readonly maySee?: ((groupId: string) => boolean) | undefined;
  /**
   * Goes on with states that were cut off: those of the groups after `groupId`, as of `cursor`, then the events after it.
   * `resync`: whether the states were shown as RESYNC. If the elector no longer knows that time, all states are shown again.
   *
   * @defaultValue the states are complete
   */
  readonly statesAfter?: { readonly groupId: string; readonly resync: boolean } | undefined;
}

/** Decides who leads: `openElector` opens one over a Tenure service or a store. Every call is for one group. */
export interface Elector extends AsyncDisposable {
  /** Wins a vacancy or a lease that is over; confirms the holder. Yes is answered after its own durable write. */
  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult>;
  /** Keeps the lease. Never shortens it. */
  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult>;
  /** Renewals of several groups, each group named once, with one result per request in its place. */
  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]>;
  /** Gives the leadership back. Asked again after a lost answer it says `resigned` again. */
  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult>;
  /** What the record says; reads never judge whether a lease is over. */
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
  /** For how long the leader asked, when it last renewed; `null` where nobody leads. */
  readonly leaseTtlMs: number | null;
  readonly term: number;
  readonly pausedForMs: number | "until-resumed" | null;
  /** Besides a pause: why nobody can win, or nobody but a successor. `null`: nothing holds it back. */
  readonly heldBack: GroupHold | null;
}

/** Bans are not among these: they hold back a node, not a group. */
export interface GroupHold {
  readonly by: Extract<HeldBack, "deposed" | "reserved" | "takeover_delay">;
  /** What is left of it. */
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
  /** Who asks; shown in the event. */
  readonly by: string;
  /** The node may not win for so long. */
  readonly banMs?: number | undefined;
  /** Free the group at once, without waiting for the lease to end. The term still fences the old leader. */
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
   * @defaultValue the best ready candidate: of those that wait at this server as a vacancy would choose it, else the one that
   * was seen last at another server. `ConflictError` where there is none.
   */
  readonly toNodeId?: string | undefined;
  readonly by: string;
  readonly timeoutMs?: number | undefined;
  /**
   * Hand over to a successor that still prepares, too.
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
   * Whether the node can work as soon as it leads: how a leader that was elected cold shows that it has become ready.
   *
   * @defaultValue what the node said last; a node that never said it is ready
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

/** Whether somebody who took part still does, judged by how long nothing was heard of it. */
export interface MemberHealth extends Member {
  /** `suspect`: silent for longer than its signs of life are apart, or since its lease as the leader expired; `down`: so long that it is no member any more. */
  readonly state: "healthy" | "suspect" | "down";
  /** In a few words, for people. */
  readonly reason: string;
  /** Since when it is in this state, on the wall clock of the server that saw it. */
  readonly sinceMs: number;
}

/** What an operator may do. Each act is a write of its own; `ConflictError` where the state does not admit it. */
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
  /** A sign of life from somebody who does not stand for election. */
  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<void>;
  /** Who gave a sign of life in the last half minute, where the elector keeps account of it. */
  members(groupId: string, options?: CallOptions): Promise<readonly Member[]>;
  /** The members, and for ten minutes those who were. */
  health(groupId: string, options?: CallOptions): Promise<readonly MemberHealth[]>;
  /**
   * Events of all groups: those of one group in order, none skipped and none repeated. Without a cursor the state of each led
   * group comes first; from a cursor that is too old, the state of every group, each as a RESYNC. A cursor is good at every
   * elector of the store; where one cannot tell which events of a group a watcher has had, that group is shown as a RESYNC.
   * States come in order of id; only the last one's cursor stands for all of them (`partial`). Cursors are not those of
   * `watch`.
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

/** The next event of one group, or why it cannot be watched any more; the other groups go on. */
export type WatchManyItem = WatchEvent | { readonly groupId: string; readonly error: TenureError };

/** What a service needs besides: one reader for the many groups of a stream. */
export interface ServiceElector extends ElectorAdmin {
  /**
   * Several groups, each named once, watched as one: for each of them what `watch` shows. Items that are ready at the same time come
   * together. Pulled: a slow reader costs nothing. Ends only by throwing, as `watch` does.
   */
  watchMany(watches: readonly GroupWatch[], options?: CallOptions): AsyncIterable<readonly WatchManyItem[]>;
}
