/** Messages between a test and its participants, which are separate processes. */
export interface ParticipantOptions {
  readonly nodeId: string;
  /** The endpoints of a service. */
  readonly endpoints?: readonly string[];
  /** Without a service: each election has its own elector over this store. */
  readonly store?: string;
  readonly ttlMs: number;
  /** Renew on a separate thread. */
  readonly stallLimitMs?: number;
  /** Each leadership begins with a turn of the event loop this long. */
  readonly busyAtFirstMs?: number;
  /** The guarded resources that it writes to. */
  readonly postgres?: string;
  readonly http?: string;
}

export type Order =
  /** As the process's own node, or as one of several in it. */
  | { readonly kind: "start"; readonly group: string; readonly nodeId?: string }
  | { readonly kind: "stop"; readonly group: string }
  /** Blocks the event loop for this long, or until the process has been paused. */
  | { readonly kind: "hold"; readonly group: string; readonly ms: number | "until-paused" }
  /** In the term that it last led, whether it still leads or not. */
  | { readonly kind: "write"; readonly group: string }
  /** Measures the cost of isLeader(). */
  | { readonly kind: "cost"; readonly group: string }
  | { readonly kind: "count" }
  | { readonly kind: "close" };

/** Times are on the machine's clock, which all processes share. */
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
  /** Of one isLeader(), and of one read of the clock for comparison. */
  | { readonly kind: "cost"; readonly askNs: number; readonly lookNs: number; readonly bytes: number }
  | { readonly kind: "count"; readonly campaigns: number; readonly writes: number; readonly syncs: number };

export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
