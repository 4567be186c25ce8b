import { DEFAULT_DRIFT_RATIO, type Clock, InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import type { Configuration, MembershipView, PeerDisk, PeerTransport } from "./messages.js";

export interface PeerOptions {
  /** The identity of this peer, as its certificate names it: 1 to 200 characters of `A-Z a-z 0-9 . _ : / -`. */
  readonly identity: string;
  /** The URL at which the other peers reach this one. Endpoints are compared as text, so it must be normalized. */
  readonly endpoint: string;
  /**
   * The endpoints to ask at the first start. The peers that found a cluster together must have the same list, including
   * their own endpoints; the smallest endpoint founds. A peer that joins an existing cluster names any of its members.
   * After the first start the stored electorate counts.
   */
  readonly join: readonly string[];
  /**
   * How long a lease lasts without a renewal, in milliseconds, from 100 to 86,400,000; the same at every peer of a cluster.
   * A crashed leader blocks the cluster for this time. Too small: a slow disk or network makes leaders lose their term. Too
   * large: failover takes long. If it differs between peers, voters refuse leases that are longer than their own ttl.
   */
  readonly ttlMs: number;
  /**
   * ρ, the largest rate error of any clock, from 0 to 0.1; the same at every peer. Too small: two peers may be leader at
   * the same time. Too large: voters hold a dead leader's lease longer, and leaders use theirs for a shorter time.
   *
   * @defaultValue 0.01
   */
  readonly driftRatio?: number;
  /**
   * When this peer campaigns. `always`: whenever there is no leader. `asked`: only while a caller of `campaign()` asks for
   * it; it votes in any case.
   *
   * @defaultValue `always`
   */
  readonly stands?: "always" | "asked";
  /** The source of time; `systemClock`, or a virtual one for tests. */
  readonly clock: Clock;
  /** Returns a number from 0 to 1 (exclusive), for random waits; no decision depends on it. */
  readonly random: () => number;
  /** Where votes and the electorate are stored. A peer with a new, empty disk is another voter. */
  readonly disk: PeerDisk;
  /** How this peer calls the others. */
  readonly transport: PeerTransport;
  /** The servers that have announced themselves; the leader makes the electorate follow them. */
  readonly membership: MembershipView;
  /**
   * Called in each round in which this leader should change its electorate. Returns why the change must wait, as a sentence
   * for the operator, or `null` if it may be made. For state that must be copied to the new members first. If it never
   * returns `null`, the electorate never changes.
   *
   * @defaultValue a function that returns `null`
   */
  readonly holdStep?: (config: Configuration) => string | null;
}

export type ParsedPeerOptions = Required<PeerOptions>;

const KEYS = [
  "identity",
  "endpoint",
  "join",
  "ttlMs",
  "driftRatio",
  "stands",
  "clock",
  "random",
  "disk",
  "transport",
  "membership",
  "holdStep",
];
/** With a smaller ttl, waits of a tenth of it would be shorter than usual network delays. */
const MIN_TTL_MS = 100;
const MAX_TTL_MS = 86_400_000;
const LARGEST_DRIFT_RATIO = 0.1;

export function parsePeerOptions(options: PeerOptions): ParsedPeerOptions {
  if (!isObject(options)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(options, "", KEYS);
  const {
    driftRatio = DEFAULT_DRIFT_RATIO,
    stands = "always",
    join,
    endpoint,
    holdStep = () => null,
  } = options;
  checkId(options.identity, "identity");
  checkInteger(options.ttlMs, "ttlMs", MIN_TTL_MS, MAX_TTL_MS);
  if (typeof endpoint !== "string" || endpoint === "") {
    throw new InvalidRequestError("endpoint", "must be the URL at which the other peers reach this one");
  }
  if (!Array.isArray(join) || join.some((each) => typeof each !== "string" || each === "")) {
    throw new InvalidRequestError("join", "must be a list of endpoints");
  }
  if (typeof driftRatio !== "number" || !(driftRatio >= 0 && driftRatio <= LARGEST_DRIFT_RATIO)) {
    throw new InvalidRequestError("driftRatio", `must be a number from 0 to ${LARGEST_DRIFT_RATIO}`);
  }
  if (stands !== "always" && stands !== "asked") {
    throw new InvalidRequestError("stands", "must be always or asked");
  }
  return Object.freeze({ ...options, join: Object.freeze([...new Set(join)]), driftRatio, stands, holdStep });
}
