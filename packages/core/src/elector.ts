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
import type { EndReason } from "./event.js";
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
  /**
   * `linearizable`: at least as new as every change acknowledged before the call. `local`: from memory, so it costs nothing and may be
   * old.
   *
   * @defaultValue `"linearizable"`
   */
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
  /** The number of the last event seen. @defaultValue none: the first item is the current state */
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
   *
   * @defaultValue none
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
  /** As in `LeadershipEvent`. */
  readonly silentMs?: number;
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
