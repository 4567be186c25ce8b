import { DEFAULT_DRIFT_RATIO, type Clock, InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import type { Configuration, MembershipView, PeerDisk, PeerTransport } from "./messages.js";

export interface PeerOptions {
  /** Who it is, by its certificate. */
  readonly identity: string;
  /** Where the others reach it, normalised as they write it. */
  readonly endpoint: string;
  /** Where to ask at the first start; its own endpoint among them if it shall found or be founded with. */
  readonly join: readonly string[];
  /** The same at every peer of a cluster. */
  readonly ttlMs: number;
  /** ρ: how far the rate of any clock may be off; the same at every peer. */
  readonly driftRatio?: number;
  /** `asked`: it stands only while `campaign` asks it to; it votes all the same. */
  readonly stands?: "always" | "asked";
  readonly clock: Clock;
  /** 0 to 1, for random waits; never for a decision. */
  readonly random: () => number;
  readonly disk: PeerDisk;
  readonly transport: PeerTransport;
  readonly membership: MembershipView;
  /**
   * Called each round in which this leader should change its electorate. Returns why the change must wait, as a sentence for
   * the operator, or `null` if it may be made. For state that must not stay behind with old members.
   *
   * @defaultValue never waits
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
/** Below it, waits of a tenth of the ttl are shorter than a usual network is slow. */
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
