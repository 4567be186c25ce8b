import type { EndReason, HeldBack } from "@tenure/core";
import type { TelemetryPart } from "./telemetry.js";

/** A leader's identity and term: send `term` with every write that only the leader may make. */
export interface Mandate {
  readonly groupId: string;
  readonly nodeId: string;
  readonly instanceId: string;
  readonly term: number;
  /** A signed proof of the lease as it was won, if the service signs leases. `token()` returns the latest one. */
  readonly token?: string;
}

/** Why this process no longer leads. */
export type DemoteReason =
  /** `stop()` was called. */
  | "stopped"
  /** The work given to `lead` has ended. */
  | "finished"
  /** `resign()` was called. */
  | "resigned"
  /** The lease expired: no renewal succeeded in time, or the process was paused. */
  | "lapsed"
  /** The elector reports another leader, or the leader was deposed. */
  | "not-leader"
  /** A successor waits, by an operator's transfer or by its priority. */
  | "transferred"
  | "unhealthy"
  /** `disconnectGracePeriodMs` passed without an answer. */
  | "disconnected"
  /** `maxConsecutiveFailures` heartbeats in a row failed. */
  | "heartbeat-failed"
  /** `onPromote` rejected before its signal aborted, and `onPromoteFailure` is "resign". */
  | "promote-failed"
  /** The lease can no longer be renewed: the thread of `workerRenewer` has ended, or its elector cannot be opened. */
  | "heart-failed"
  /** Renewals are refused permanently, for example because the node is not allowed or the policy no longer admits its ttl. */
  | "refused"
  /** The store shows another leader or term. */
  | "token-invalid";

/** The rest of the lease while the work ends; a renewal may extend it. */
export interface LeaseTime {
  /** Time until another node may lead; 0 when it may lead now. */
  leftMs(): number;
}

/** Each state holds only the fields that are valid in it. */
export type ElectionState =
  | { readonly kind: "idle" }
  /** Campaigns, or waits until it may. */
  | { readonly kind: "following" }
  | { readonly kind: "leading"; readonly mandate: Mandate }
  /** No longer leads; its work and `onDemote` have not ended yet, and nothing was resigned. */
  | {
      readonly kind: "stepping-down";
      readonly mandate: Mandate;
      readonly reason: DemoteReason;
      /** The failed renewal that ended the leadership, if one did. */
      readonly error?: unknown;
    }
  /** The work and `onDemote` have ended; the elector has not answered the resignation yet. */
  | { readonly kind: "resigning"; readonly mandate: Mandate; readonly reason: DemoteReason }
  /** Does not campaign until its health check succeeds again. */
  | { readonly kind: "unhealthy" }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "stopped" };

export type ConnectionStatus = "unknown" | "connected" | "disconnected";

/** The leader, as the group's watch shows it. */
export interface KnownLeader {
  readonly nodeId: string | null;
  readonly term: number;
  /** How the previous leadership ended. */
  readonly reason: EndReason | "none";
}

/** What `status()` returns: a snapshot of one election. */
export interface ElectionStatus {
  readonly state: ElectionState;
  readonly isLeader: boolean;
  /** Whether `prepare` has resolved, or there is none. A leader that is not ready holds the lease and does not work yet. */
  readonly ready: boolean;
  /** `null` if there is no leader or it is not known. */
  readonly leaderId: string | null;
  /** The highest term known. */
  readonly term: number;
  /** How long this process may still act as leader; 0 if it may not. */
  readonly leftMs: number;
  readonly connection: ConnectionStatus;
  readonly consecutiveFailures: number;
  /** One for each leadership of this process; included in all its log lines. */
  readonly correlationId: string | null;
}

/** What an election sends to its elector. `update`: a leader's new metadata. */
export type ElectionRequest = "campaign" | "renew" | "resign" | "watch" | "update";

/** Whose code failed: one of the hooks, `prepare`, or a listener given to `on`. */
export type HookName = "onPromote" | "onDemote" | "onLeaderChange" | "prepare" | "listener";

/** What `changes()` yields; narrow on `kind`. */
export type ElectionEvent =
  | { readonly kind: "promoted"; readonly mandate: Mandate }
  /** The leadership is lost at this moment; its work has not ended yet. `error`: the failed renewal that ended it, if one did. */
  | {
      readonly kind: "demoting";
      readonly mandate: Mandate;
      readonly reason: DemoteReason;
      readonly error?: unknown;
    }
  /** The work still runs after its lease has ended, or longer than `stopMarginMs` after its signal aborted. Repeated. */
  | {
      readonly kind: "work-overdue";
      readonly mandate: Mandate;
      readonly reason: DemoteReason;
      /** Time since the signal aborted. */
      readonly overdueMs: number;
      /** 0: another node may lead meanwhile. */
      readonly leaseLeftMs: number;
    }
  /** The work and `onDemote` have ended. */
  | {
      readonly kind: "demoted";
      readonly mandate: Mandate;
      readonly reason: DemoteReason;
      readonly error?: unknown;
    }
  /** A campaign was answered, and this process does not lead. Repeated with each campaign. */
  | {
      readonly kind: "campaign-lost";
      readonly leader: { readonly nodeId: string; readonly term: number } | null;
      /** Why the group elects no leader at the moment; set only if it has none. */
      readonly heldBack?: HeldBack;
      /** How long that will last; absent: until an operator acts. */
      readonly heldBackForMs?: number;
    }
  /** A request was refused, or not answered. Repeated with each failure. */
  | {
      readonly kind: "request-failed";
      readonly request: ElectionRequest;
      readonly error: unknown;
      /** A retry cannot succeed until a person changes something, such as the policy, the credentials or the allowed nodes. */
      readonly permanent: boolean;
      /** When a campaign is sent again, unless there is news before; `null` for other requests, and if the election has failed. */
      readonly retryInMs: number | null;
    }
  | { readonly kind: "leader-changed"; readonly leader: KnownLeader; readonly previousId: string | null }
  /** Half the ttl has passed since the last successful renewal was sent. */
  | { readonly kind: "danger"; readonly mandate: Mandate; readonly leftMs: number }
  | { readonly kind: "connection"; readonly status: ConnectionStatus }
  /** `error`: what the last failed check threw, or that it returned no boolean. */
  | { readonly kind: "health"; readonly healthy: boolean; readonly error?: unknown }
  /** `prepare` has resolved, or has begun (again). */
  | { readonly kind: "readiness"; readonly ready: boolean }
  | { readonly kind: "hook-failed"; readonly hook: HookName; readonly error: unknown }
  /** A logger, metric or tracer threw; reported once for each. */
  | { readonly kind: "telemetry-failed"; readonly part: TelemetryPart; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "stopped" };
