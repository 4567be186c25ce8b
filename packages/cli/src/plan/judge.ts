/** What is wrong with a plan: a ttl that the network or the store does not allow, and limits of a server that it exceeds. */
import { DEFAULT_POLICY } from "@tenure/core";
import { parseServerOptions } from "@tenure/server";
import { type Finding, note } from "../doctor/finding.js";
import { tellDuration } from "../frame/duration.js";
import { type Plan, type PlanInput, predict } from "./predict.js";

/** TCP sends a lost packet again after the round trip and at least this; Linux's minimum, see `tcp_rto_min_us`. */
const MIN_RETRANSMIT_MS = 200;

export function judge(input: PlanInput, plan: Plan): Finding[] {
  return [...judgeTtl(input, plan), ...judgePolicy(input), ...judgeLimits(input, plan)];
}

/** The ttls that are recommended. */
const STEPS_MS = [
  500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000,
] as const;

/** The shortest of the usual ttls that this network and store allow; `null`: they are too slow for any of them. */
export function shortestTtlMs(input: PlanInput): number | null {
  return STEPS_MS.find((ttlMs) => problemOf(input, predict({ ...input, ttlMs })) === null) ?? null;
}

function judgeTtl(input: PlanInput, plan: Plan): Finding[] {
  const problem = problemOf(input, plan);
  if (problem === null) return [];
  const ttlMs = shortestTtlMs(input);
  const advice =
    ttlMs === null
      ? "use a store or servers that are nearer to the nodes"
      : `use a ttl of ${ms(ttlMs)} or more`;
  return [{ ...problem, about: "ttl", advice }];
}

function problemOf(
  { rttMs }: PlanInput,
  { times, pause, outage }: Plan,
): { readonly level: "wrong" | "warning"; readonly says: string } | null {
  const { answerMs, answerLimitMs, storeWriteMs, storeWriteLimitMs, connectionTimeoutMs } = times;
  if (storeWriteMs > storeWriteLimitMs) {
    const says = `a write to the store takes ${ms(storeWriteMs)}, and is given up after ${ms(storeWriteLimitMs)}: no renewal succeeds`;
    return { level: "wrong", says };
  }
  if (answerMs > answerLimitMs) {
    const says = `a renewal is answered after ${ms(answerMs)}, and is given up after ${ms(answerLimitMs)}: no renewal succeeds`;
    return { level: "wrong", says };
  }
  if (pause.alwaysMs === 0)
    return { level: "wrong", says: "a leader may lose its lease although nothing has failed" };
  if (answerMs > connectionTimeoutMs) {
    const says = `every renewal is reported as failed: it is answered after ${ms(answerMs)}, and connectionTimeoutMs is ${ms(connectionTimeoutMs)}. Late answers still count`;
    return { level: "warning", says };
  }
  // The connection waits twice as long before it sends a packet for the third time.
  const retransmitMs = 3 * (rttMs + Math.max(MIN_RETRANSMIT_MS, rttMs));
  if (outage.alwaysMs < retransmitMs) {
    const says = `a leader survives an outage of ${ms(outage.alwaysMs)}; a connection that loses a packet twice needs up to ${ms(retransmitMs)}`;
    return { level: "warning", says };
  }
  return null;
}

function judgePolicy({ ttlMs }: PlanInput): Finding[] {
  const { minTtlMs, maxTtlMs } = DEFAULT_POLICY;
  if (ttlMs >= minTtlMs && ttlMs <= maxTtlMs) return [];
  const says = `a group admits ttls from ${ms(minTtlMs)} to ${ms(maxTtlMs)} unless its policy is changed`;
  return [note("policy", says, "use tenure groups update GROUP with --min-ttl or --max-ttl")];
}

function judgeLimits({ groups, nodes, servers }: PlanInput, { load }: Plan): Finding[] {
  if (servers === 0) return [];
  const limits = parseServerOptions({ listen: "0.0.0.0:7420" });
  const found: Finding[] = [];
  const check = (flag: string, needed: number, limit: number | null, what: string): void => {
    if (limit === null || needed <= limit) return;
    const says = `${what}: ${Math.ceil(needed)}, and tenure serve allows ${limit} by default`;
    found.push(warning(flag, says, ADVICE[flag] ?? `raise ${flag}`));
  };
  check("--max-groups", groups, limits.maxGroups, "groups");
  check("--rate-limit", load.costPerNodePerSecond, limits.rateLimit, "requests of one node each second");
  check(
    "--max-waiting",
    load.waitingCampaigns / servers,
    limits.maxWaiting,
    "campaigns that wait at one server",
  );
  check(
    "--max-waiting-per-caller",
    waitsOfOne(groups, nodes),
    limits.maxWaitingPerCaller,
    "campaigns of one node that wait",
  );
  check("--max-watches", load.watches / servers, limits.maxWatches, "watches at one server");
  check("--max-watches-per-caller", groups, limits.maxWatchesPerCaller, "watches of one node");
  return found;
}

/** Groups in which a node waits while they are led by others. */
function waitsOfOne(groups: number, nodes: number): number {
  return nodes === 1 ? 0 : groups;
}

const ROLES = "a RoleManager does not wait in the queue and needs none of these requests; or raise the limit";

const ADVICE: Readonly<Record<string, string>> = {
  "--rate-limit": ROLES,
  "--max-waiting": ROLES,
  "--max-waiting-per-caller": ROLES,
};

function warning(about: string, says: string, advice: string): Finding {
  return { level: "warning", about, says, advice };
}

function ms(value: number): string {
  return tellDuration(Math.round(value));
}
