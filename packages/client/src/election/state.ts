import type { EndReason } from "@tenure/core";
import type { TelemetryPart } from "./telemetry.js";

/** What a leader holds in its hands: pass `term` along with every write that only the leader may make. */
export interface Mandate {
  readonly groupId: string;
  readonly nodeId: string;
  readonly instanceId: string;
  readonly term: number;
  /** A signed proof of this lease as it was won, where the service signs them. `token()` has the latest. */
  readonly token?: string;
}

/** Why this process leads no longer. */
export type DemoteReason =
  /** `stop()` was called. */
  | "stopped"
  /** The work given to `lead` has ended. */
  | "finished"
  /** `resign()` was called. */
  | "resigned"
  /** The lease ran out: no renewal came through in time, or the process was held up. */
  | "lapsed"
  /** The elector says that somebody else leads, or that the leader was deposed. */
  | "not-leader"
  /** A successor waits, by an operator's wish or by its priority. */
  | "transferred"
  | "unhealthy"
  /** `disconnectGracePeriodMs` passed without an answer. */
  | "disconnected"
  /** `maxConsecutiveFailures` heartbeats in a row failed. */
  | "heartbeat-failed"
  /** `onPromote` rejected before its signal aborted, and `onPromoteFailure` is "resign". */
  | "promote-failed"
  /** Nothing can renew the lease any more: the thread of `workerRenewer` has ended, or its elector cannot be opened. */
  | "heart-failed"
  /** Renewals are refused for good: not allowed, a ttl that the policy no longer admits. */
  | "refused"
  /** The store names another leader or term. */
  | "token-invalid";

/** What is left of the lease while the work ends: a renewal may prolong it. */
export interface LeaseTime {
  /** Until somebody else may lead; 0 when it may be so now. */
  leftMs(): number;
}

/** Each holds only what is valid in it. */
export type ElectionState =
  | { readonly kind: "idle" }
  /** Stands for election, or waits to be let. */
  | { readonly kind: "following" }
  | { readonly kind: "leading"; readonly mandate: Mandate }
  /** No longer leads; its work and `onDemote` have not ended yet, and nothing was resigned. */
  | { readonly kind: "stepping-down"; readonly mandate: Mandate; readonly reason: DemoteReason }
  /** The work and `onDemote` have ended; the elector has not answered the resignation yet. */
  | { readonly kind: "resigning"; readonly mandate: Mandate; readonly reason: DemoteReason }
  /** Does not stand for election until its health check says yes again. */
  | { readonly kind: "unhealthy" }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "stopped" };

export type ConnectionStatus = "unknown" | "connected" | "disconnected";

/** Who leads, as the group's watch tells it. */
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
  /** `null` where it is not known, or nobody leads. */
  readonly leaderId: string | null;
  /** The highest term known. */
  readonly term: number;
  /** How long this process may still act as leader, 0 if not. */
  readonly leftMs: number;
  readonly connection: ConnectionStatus;
  readonly consecutiveFailures: number;
  /** One for each leadership of this process; in every log line of it. */
  readonly correlationId: string | null;
}

/** Whose code failed: one of the hooks, `prepare`, or a listener given to `on`. */
export type HookName = "onPromote" | "onDemote" | "onLeaderChange" | "prepare" | "listener";

/** What `changes()` yields; narrow on `kind`. */
export type ElectionEvent =
  | { readonly kind: "promoted"; readonly mandate: Mandate }
  /** The leadership is lost at this moment; its work has not ended yet. */
  | { readonly kind: "demoting"; readonly mandate: Mandate; readonly reason: DemoteReason }
  /** The work runs on after its lease has ended, or for longer than `stopMarginMs` after its signal. Repeated. */
  | {
      readonly kind: "work-overdue";
      readonly mandate: Mandate;
      readonly reason: DemoteReason;
      /** Since the signal aborted. */
      readonly overdueMs: number;
      /** 0: another node may lead meanwhile. */
      readonly leaseLeftMs: number;
    }
  /** The work and `onDemote` have ended. */
  | { readonly kind: "demoted"; readonly mandate: Mandate; readonly reason: DemoteReason }
  | { readonly kind: "leader-changed"; readonly leader: KnownLeader; readonly previousId: string | null }
  /** Half the ttl has gone since the last renewal that came through was sent. */
  | { readonly kind: "danger"; readonly mandate: Mandate; readonly leftMs: number }
  | { readonly kind: "connection"; readonly status: ConnectionStatus }
  /** `error`: why the last check was bad, where it threw or returned no boolean. */
  | { readonly kind: "health"; readonly healthy: boolean; readonly error?: unknown }
  /** `prepare` has resolved, or has begun (again). */
  | { readonly kind: "readiness"; readonly ready: boolean }
  | { readonly kind: "hook-failed"; readonly hook: HookName; readonly error: unknown }
  /** A logger, metric or tracer threw; reported once for each. */
  | { readonly kind: "telemetry-failed"; readonly part: TelemetryPart; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: Error }
  | { readonly kind: "stopped" };
