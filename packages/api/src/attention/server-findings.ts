/** What needs attention about a server: its certificate and its store. A pure function of what is known at one time. */
import { durationText } from "./duration-text.js";
import type { Finding, Severity } from "./finding.js";

export interface ServerFacts {
  /** Validity of the server's own TLS certificate; `null`: no TLS. */
  readonly certificate: Validity | null;
  readonly store: StoreFacts;
}

export interface StoreFacts {
  /** Since when the store does not answer; `null`: it answers. */
  readonly unreachableSinceMs: number | null;
  /** Durations of the writes within the last `STORE_WINDOW_MS`. */
  readonly writes: WriteTimes | null;
}

export interface WriteTimes {
  readonly count: number;
  /** 99 % of the writes took at most this long. */
  readonly p99Ms: number;
  /** Number of writes that took longer than `SLOW_WRITE_MS`. */
  readonly slow: number;
  /** Start of the first of the slow writes. */
  readonly slowSinceMs: number | null;
}

export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

const DAY_MS = 86_400_000;
/** A certificate is reported from this time before its end, or when this part of its lifetime is left, whichever is later. */
const EXPIRY_BOUNDS: readonly (readonly [Severity, number, number])[] = [
  ["problem", 2 * DAY_MS, 1 / 8],
  ["warning", 14 * DAY_MS, 1 / 3],
];

export const STORE_WINDOW_MS = 30_000;
/** A write that takes longer is slow. A store that can keep leases of a few seconds needs only a fraction of this time. */
export const SLOW_WRITE_MS = 250;
/** The time limit of an elector for one write. */
const FAILED_WRITE_MS = 1000;
/** Fewer slow writes within the window are not reported. */
const MIN_SLOW_WRITES = 3;

export function serverFindings({ certificate, store }: ServerFacts, nowMs: number): readonly Finding[] {
  const found = [
    certificate === null ? null : certificateFinding(certificate, nowMs),
    storeUnreachable(store, nowMs),
    storeSlow(store),
  ];
  return found.filter((each) => each !== null);
}

export function certificateFinding({ fromMs, untilMs }: Validity, nowMs: number): Finding | null {
  const leftMs = untilMs - nowMs;
  const found = EXPIRY_BOUNDS.find(
    ([, boundMs, share]) => leftMs < Math.min(boundMs, share * (untilMs - fromMs)),
  );
  if (found === undefined) return null;
  const [severity, boundMs, share] = found;
  const when = leftMs <= 0 ? `expired ${durationText(-leftMs)} ago` : `expires in ${durationText(leftMs)}`;
  return {
    kind: "certificate_expiring",
    severity,
    groupId: null,
    sinceMs: Math.round(untilMs - Math.min(boundMs, share * (untilMs - fromMs))),
    summary: `the TLS certificate of this server ${when}`,
    nextStep: "renew the certificate and replace the file; the server reads the new file without a restart",
  };
}

function storeUnreachable({ unreachableSinceMs }: StoreFacts, nowMs: number): Finding | null {
  if (unreachableSinceMs === null) return null;
  const age = durationText(Math.max(0, nowMs - unreachableSinceMs));
  return {
    kind: "store_unreachable",
    severity: "problem",
    groupId: null,
    sinceMs: unreachableSinceMs,
    summary: `the store has not answered this server for ${age}; leaders cannot renew and groups elect no leaders`,
    nextStep:
      "check that a majority of the store's servers runs and can be reached from this server; read the logs of both",
  };
}

function storeSlow({ writes }: StoreFacts): Finding | null {
  if (writes === null) return null;
  const { count, p99Ms, slow, slowSinceMs } = writes;
  if (p99Ms <= SLOW_WRITE_MS || slow < MIN_SLOW_WRITES) return null;
  const isFailing = p99Ms >= FAILED_WRITE_MS;
  const bound = isFailing ? FAILED_WRITE_MS : SLOW_WRITE_MS;
  return {
    kind: "store_slow",
    severity: isFailing ? "problem" : "warning",
    groupId: null,
    sinceMs: slowSinceMs,
    summary:
      `the store is slow: of ${count} writes in the last ${durationText(STORE_WINDOW_MS)} the slowest 1 % took ` +
      `${durationText(Math.round(p99Ms))} or more, and ${durationText(bound)} is the bound`,
    nextStep:
      "look at disk, CPU and network of the store's servers (tenure doctor --store URL); until it is faster, use longer ttls",
  };
}
