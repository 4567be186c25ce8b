import { InvalidRequestError, type Metadata } from "@tenure/core";
import { checkId, checkInteger, checkKeys, checkNumber, isObject, LIMITS } from "@tenure/core/internal";
import { parseMetadata } from "../election/metadata.js";
import { type ElectionOptions, type ParsedElection, parseElection } from "../election/options.js";
import { NO_ROLE_METRICS, type RoleMetrics } from "./state.js";

/**
 * Spreads the roles over all processes that name the same `group`, in proportion to their weights. They must have the same
 * roles.
 */
export interface SpreadOptions {
  /**
   * The name that all processes share. Each process holds one member lease, which is a group of its own, named `GROUP/0`,
   * `GROUP/1` and so on; these names must not be used for anything else.
   */
  readonly group: string;
  /**
   * The share of this process compared to the others, from 0.001 to 1000: with weights 1 and 2, the second leads twice as
   * many.
   *
   * @defaultValue 1
   */
  readonly weight?: number | undefined;
  /**
   * How many processes can take part, from 1 to 1000; the same in all of them. Another process leads nothing until a member
   * lease becomes free. Every process watches this number of groups, so do not set it much larger than needed.
   *
   * @defaultValue 32
   */
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

/** One health check for all roles; their elections have none. */
type HealthOptions = Pick<ElectionOptions, "healthChecker" | "healthTimeoutMs" | "maxHealthFailures">;

/**
 * Options of `new RoleManager(elector, options)`: options that all elections of the roles share (see `ElectionOptions`),
 * one health check for all of them (an unhealthy process gives all its roles up and campaigns for none), and those below.
 */
export interface RoleManagerOptions extends SharedOptions, HealthOptions {
  /**
   * Spread the roles over all processes that name the same group.
   *
   * @defaultValue none: the first process leads all roles
   */
  readonly spread?: SpreadOptions | undefined;
  /**
   * The largest number of roles that this process leads. If the sum over all processes is too small, some roles have no
   * leader.
   *
   * @defaultValue no limit
   */
  readonly maxRoles?: number | undefined;
  /**
   * The largest number of campaigns in progress at once, from 1 to 1000. An elector that batches sends 256 of them as one
   * or two requests. Too small: taking over many roles takes many round trips. Too large: a burst of work for the elector.
   *
   * @defaultValue 256
   */
  readonly maxCampaigns?: number | undefined;
  /**
   * How long a part of a set is held while the rest is missing, in milliseconds, from 1 to 3,600,000. Then the part is
   * given back and tried again later. Too small: sets are given up before the last role is won. Too large: roles are held
   * without work.
   *
   * @defaultValue `ttlMs`
   */
  readonly setTimeoutMs?: number | undefined;
  /**
   * Metrics of the manager itself; `prometheusRoleMetrics` creates them. Those of each role's election are `metrics`.
   *
   * @defaultValue none
   */
  readonly roleMetrics?: RoleMetrics | undefined;
}

/** Options of one role: `manager.add(name, options)`. */
export interface RoleOptions {
  /** The group of the role's election. @defaultValue the role's name */
  readonly groupId?: string | undefined;
  /**
   * Roles of higher priority are taken first and given up last, from -1,000,000 to 1,000,000. It is also the priority of
   * the role's campaigns, which counts if the group's policy has strategy `priority`.
   *
   * @defaultValue 0
   */
  readonly priority?: number | undefined;
  /**
   * Roles that must be led by this process for this role to be led. It is acquired after them and released before them.
   *
   * @defaultValue none
   */
  readonly dependsOn?: readonly string[] | undefined;
  /** The name of a set: one process leads all roles of a set, or none of them. @defaultValue none */
  readonly set?: string | undefined;
  /** Information shown with the leader of the role: a JSON object of at most 4 KiB. @defaultValue none */
  readonly metadata?: Metadata | undefined;
  /**
   * How long one campaign waits in the elector's queue, in milliseconds, up to 60,000. It holds one request open per role,
   * and makes takeover faster. 0: campaign when the watch shows that the role is vacant. It must be 0 with `spread`,
   * `maxRoles` or `set`.
   *
   * @defaultValue 0
   */
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
  /** For each election; the group and the role's own options are still to be set. */
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
  // There is one check for all roles, so none for each election.
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
      `is ${waitMs} for role ${name} and must be 0 with ${other}: a waiting campaign may win at any time`,
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
