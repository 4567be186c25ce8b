import { InvalidRequestError, type Metadata } from "@tenure/core";
import { checkId, checkInteger, checkKeys, checkNumber, isObject, LIMITS } from "@tenure/core/internal";
import { parseMetadata } from "../election/metadata.js";
import { type ElectionOptions, type ParsedElection, parseElection } from "../election/options.js";
import { NO_ROLE_METRICS, type RoleMetrics } from "./state.js";

/** Spreads the roles evenly over all processes that name the same `group`. They must have the same roles. */
export interface SpreadOptions {
  /** The members sit in groups of their own, named `GROUP/0`, `GROUP/1` and so on. */
  readonly group: string;
  /** How much falls to this process compared to the others; 1 by default. */
  readonly weight?: number | undefined;
  /** How many processes can take part; the same in all of them. One more waits for a member lease. 32 by default. */
  readonly maxMembers?: number | undefined;
}

type SharedOptions = Pick<
  ElectionOptions,
  | "nodeId"
  | "ttlMs"
  | "heartbeatIntervalMs"
  | "connectionTimeoutMs"
  | "disconnectGracePeriodMs"
  | "maxConsecutiveFailures"
  | "fencing"
  | "retry"
  | "onPromoteFailure"
  | "stopMarginMs"
  | "logger"
  | "metrics"
  | "tracer"
  | "renewer"
  | "driftRatio"
  | "clock"
  | "random"
  | "newId"
>;

/** Asked once for all roles; the elections have none of their own. */
type HealthOptions = Pick<ElectionOptions, "healthChecker" | "healthTimeoutMs" | "maxHealthFailures">;

/**
 * Options of `new RoleManager(elector, options)`: what all elections of the roles have in common, one health check for all of
 * them (an unhealthy process gives all its roles up and stands for none), and:
 */
export interface RoleManagerOptions extends SharedOptions, HealthOptions {
  /**
   * Spread the roles over all processes that name the same group.
   * @defaultValue none: whoever comes first leads them all
   */
  readonly spread?: SpreadOptions | undefined;
  /** The most roles that this process leads; all by default. */
  readonly maxRoles?: number | undefined;
  /** How many campaigns are under way at once; 256 by default, which an elector that batches sends as one or two requests. */
  readonly maxCampaigns?: number | undefined;
  /** How long a part of a set is held while the rest of it is missing; the ttl by default. */
  readonly setTimeoutMs?: number | undefined;
  /**
   * Metrics of the manager itself; `prometheusRoleMetrics` makes them. Those of each role's election are `metrics`.
   * @defaultValue none
   */
  readonly roleMetrics?: RoleMetrics | undefined;
}

/** Options of one role: `manager.add(name, options)`. */
export interface RoleOptions {
  /** The group that its election is held in; its name by default. */
  readonly groupId?: string | undefined;
  /** Roles of higher priority are taken first and given up last; and with `campaignWaitMs` the group's policy may go by it. */
  readonly priority?: number | undefined;
  /** Led only while these are; acquired after them, released before them. */
  readonly dependsOn?: readonly string[] | undefined;
  /** All roles of a set are led by one process, or none. */
  readonly set?: string | undefined;
  readonly metadata?: Metadata | undefined;
  /** Stand in the elector's queue, which holds one call open, instead of campaigning when the role is vacant (0, the default). */
  readonly campaignWaitMs?: number | undefined;
}

export interface ParsedRole {
  readonly name: string;
  readonly groupId: string;
  readonly priority: number;
  readonly dependsOn: readonly string[];
  readonly set: string | null;
  readonly metadata: Metadata | undefined;
  readonly campaignWaitMs: number;
}

export interface ParsedSpread {
  readonly memberLeases: readonly string[];
  readonly weight: number;
}

export interface ParsedManager {
  /** For each election; the group and what is the role's own are still to be set. */
  readonly shared: SharedOptions;
  /** The same with defaults, and with the health check of the process. */
  readonly election: ParsedElection;
  readonly spread: ParsedSpread | null;
  readonly maxRoles: number;
  readonly maxCampaigns: number;
  readonly setTimeoutMs: number;
  readonly roleMetrics: RoleMetrics;
}

const OWN = ["spread", "maxRoles", "maxCampaigns", "setTimeoutMs", "roleMetrics"] as const;
const SHARED: readonly (keyof SharedOptions)[] = [
  "nodeId",
  "ttlMs",
  "heartbeatIntervalMs",
  "connectionTimeoutMs",
  "disconnectGracePeriodMs",
  "maxConsecutiveFailures",
  "fencing",
  "retry",
  "onPromoteFailure",
  "stopMarginMs",
  "logger",
  "metrics",
  "tracer",
  "renewer",
  "driftRatio",
  "clock",
  "random",
  "newId",
];
const HEALTH: readonly (keyof HealthOptions)[] = ["healthChecker", "healthTimeoutMs", "maxHealthFailures"];
const ROLE = ["groupId", "priority", "dependsOn", "set", "metadata", "campaignWaitMs"];

/** More roles than any process leads. */
const MAX_ROLES = 1_000_000;
const MAX_MS = 3_600_000;

export function parseManager(given: RoleManagerOptions): ParsedManager {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", [...SHARED, ...HEALTH, ...OWN]);
  const { spread, maxRoles, maxCampaigns, setTimeoutMs, roleMetrics, ...rest } = given as RoleManagerOptions;
  const election = parseElection({ ...rest, groupId: "any" });
  // One check for all roles, so none for each.
  const shared = {
    ...rest,
    healthChecker: undefined,
    healthTimeoutMs: undefined,
    maxHealthFailures: undefined,
  };
  return Object.freeze({
    shared,
    election,
    spread: spread === undefined ? null : parseSpread(spread),
    maxRoles: checkInteger(maxRoles ?? MAX_ROLES, "maxRoles", 0, MAX_ROLES),
    maxCampaigns: checkInteger(maxCampaigns ?? 256, "maxCampaigns", 1, 1000),
    setTimeoutMs: checkInteger(setTimeoutMs ?? election.ttlMs, "setTimeoutMs", 1, MAX_MS),
    roleMetrics: roleMetrics ?? NO_ROLE_METRICS,
  });
}

function parseSpread(given: SpreadOptions): ParsedSpread {
  if (!isObject(given)) throw new InvalidRequestError("spread", "must be an object");
  checkKeys(given, "spread", ["group", "weight", "maxMembers"]);
  const { group, weight, maxMembers } = given as SpreadOptions;
  const members = checkInteger(maxMembers ?? 32, "spread.maxMembers", 1, 1000);
  return {
    memberLeases: Array.from({ length: members }, (_, index) =>
      checkId(`${checkId(group, "spread.group")}/${index}`, "spread.group"),
    ),
    weight: checkNumber(weight ?? 1, "spread.weight", 0.001, 1000),
  };
}

export function parseRole(name: string, given: RoleOptions, { spread, maxRoles }: ParsedManager): ParsedRole {
  checkId(name, "role");
  if (!isObject(given)) throw new InvalidRequestError(`role ${name}`, "must be an object");
  checkKeys(given, `role ${name}`, ROLE);
  const { groupId, priority, dependsOn, set, metadata, campaignWaitMs } = given as RoleOptions;
  const waitMs = checkInteger(campaignWaitMs ?? 0, "campaignWaitMs", 0, LIMITS.waitMs);
  if (waitMs > 0 && (spread !== null || maxRoles < MAX_ROLES || set !== undefined)) {
    const other = spread !== null ? "spread" : set === undefined ? "maxRoles" : "set";
    throw new InvalidRequestError(
      "campaignWaitMs",
      `is ${waitMs} for role ${name} and must be 0 with ${other}: whoever waits in a queue cannot tell when it wins`,
    );
  }
  return Object.freeze({
    name,
    groupId: checkId(groupId ?? name, "groupId"),
    priority: checkInteger(priority ?? 0, "priority", -LIMITS.priority, LIMITS.priority),
    dependsOn: (dependsOn ?? []).map((each) => checkId(each, "dependsOn")),
    set: set === undefined ? null : checkId(set, "set"),
    metadata: parseMetadata(metadata, `role ${name}.metadata`),
    campaignWaitMs: waitMs,
  });
}
