/** What a test and its participants, processes of their own, tell each other. */
export interface ParticipantOptions {
  readonly nodeId: string;
  /** Of a service. */
  readonly endpoints?: readonly string[];
  /** Or without one: each election with an elector of its own. */
  readonly store?: string;
  readonly ttlMs: number;
  /** Renew on a thread of its own. */
  readonly stallLimitMs?: number;
  /** Each leadership begins with so long a turn of the event loop. */
  readonly busyAtFirstMs?: number;
  /** Where it writes, each behind its guard. */
  readonly postgres?: string;
  readonly http?: string;
}

export type Order =
  /** As the process's own node, or as one of several in it. */
  | { readonly kind: "start"; readonly group: string; readonly nodeId?: string }
  | { readonly kind: "stop"; readonly group: string }
  /** Keep the event loop from turning: for so long, or until the process has been paused. */
  | { readonly kind: "hold"; readonly group: string; readonly ms: number | "until-paused" }
  /** In the term that it last led, whether it leads or not. */
  | { readonly kind: "write"; readonly group: string }
  /** How dear it is to ask whether it leads. */
  | { readonly kind: "cost"; readonly group: string }
  | { readonly kind: "count" }
  | { readonly kind: "close" };

/** Times are the machine's: the same for every process. */
export type Told =
  | { readonly kind: "ready" }
  | { readonly kind: "started"; readonly group: string; readonly leaderId: string | null }
  | { readonly kind: "promoted"; readonly group: string; readonly term: number; readonly atMs: number }
  | { readonly kind: "demoted"; readonly group: string; readonly reason: string; readonly atMs: number }
  | { readonly kind: "failure"; readonly code: string }
  | { readonly kind: "stopping"; readonly group: string; readonly atMs: number }
  | { readonly kind: "stopped"; readonly group: string }
  | { readonly kind: "held"; readonly group: string; readonly isLeader: boolean; readonly isAborted: boolean }
  | { readonly kind: "wrote"; readonly postgres: string; readonly http: string }
  /** Of one question; and of one look at the clock, for comparison. */
  | { readonly kind: "cost"; readonly askNs: number; readonly lookNs: number; readonly bytes: number }
  | { readonly kind: "count"; readonly campaigns: number; readonly writes: number; readonly syncs: number };

export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
