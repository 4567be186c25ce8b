/** What the servers of a cluster report, put together: one row per server, and what an operator has to look at. Pure. */
import type { StatusShape } from "@tenure/peers";
import { tellDuration } from "../frame/duration.js";

/** One server as it was asked; `status` is `null` where it did not answer, for the reason in `problem`. */
export interface ServerView {
  readonly endpoint: string;
  readonly identity: string | null;
  readonly status: StatusShape | null;
  readonly problem: string | null;
}

export interface ClusterStatus {
  readonly cluster: string | null;
  readonly epoch: readonly number[] | null;
  readonly leader: StatusShape["leader"];
  readonly servers: readonly ServerView[];
  /** Each a sentence. */
  readonly problems: readonly string[];
}

const WARN_BEFORE_MS: number = 30 * 86_400_000;

/** The servers of the cluster, as one of them reports them. */
export function placesIn({
  identity,
  endpoint,
  electorate,
  members,
}: StatusShape): ReadonlyMap<string, string> {
  const places = new Map(members.map((each) => [each.endpoint, each.identity]));
  for (const [id, member] of Object.entries(electorate?.members ?? {})) places.set(member.endpoint, id);
  return places.set(endpoint, identity);
}

export function clusterStatus(
  first: StatusShape,
  servers: readonly ServerView[],
  nowMs: number,
): ClusterStatus {
  const answered = servers.flatMap(({ status }) => (status === null ? [] : [status]));
  const ours = answered.filter((each) => clusterOf(each) === clusterOf(first));
  const newest = ours.reduce((best, each) => (isNewer(each, best) ? each : best), first);
  const leading = ours.filter((each) => each.is_leader).toSorted((a, b) => b.term - a.term)[0];
  const leader = leading?.leader ?? null;
  return {
    cluster: clusterOf(newest),
    epoch: newest.electorate?.epoch ?? null,
    leader,
    servers: servers.toSorted((a, b) => (a.endpoint < b.endpoint ? -1 : 1)),
    problems: [
      ...(leader === null ? whyNoLeader(newest, ours) : []),
      ...unreached(newest, servers),
      ...strangers(first, answered),
      ...ours.flatMap((each) => ofServer(each, newest, nowMs)),
      ...differingTtls(answered),
    ],
  };
}

export function labelOf(identity: string, servers: readonly ServerView[]): string {
  const name = servers.find((each) => each.identity === identity)?.status?.certificate?.name ?? "";
  return name === "" || name === identity ? identity : `${name} (${identity})`;
}

function whyNoLeader(newest: StatusShape, ours: readonly StatusShape[]): readonly string[] {
  const reasons = ours.flatMap(({ endpoint, not_standing: why }) =>
    why === null ? [] : [`${endpoint} does not campaign: ${why.detail}`],
  );
  const size = Object.keys(newest.electorate?.members ?? {}).length;
  const needed = Math.floor(size / 2) + 1;
  const head =
    newest.electorate === null
      ? "there is no coordinator: the cluster is not bootstrapped yet"
      : `there is no coordinator: ${needed} of the ${size} electors are needed`;
  return [head, ...reasons];
}

function unreached(newest: StatusShape, servers: readonly ServerView[]): readonly string[] {
  const electors = new Set(Object.values(newest.electorate?.members ?? {}).map(({ endpoint }) => endpoint));
  return servers.flatMap(({ endpoint, problem }) =>
    problem === null
      ? []
      : [`${endpoint}, ${electors.has(endpoint) ? "an elector" : "a member"}, does not respond: ${problem}`],
  );
}

function strangers(first: StatusShape, answered: readonly StatusShape[]): readonly string[] {
  return answered.flatMap((each) =>
    clusterOf(each) === clusterOf(first) || clusterOf(each) === null || clusterOf(first) === null
      ? []
      : [
          `${each.endpoint} belongs to another cluster, ${clusterOf(each) ?? ""}: one of the two was bootstrapped by mistake`,
        ],
  );
}

function ofServer(each: StatusShape, newest: StatusShape, nowMs: number): readonly string[] {
  const problems: string[] = [];
  const { endpoint, certificate, held_back: heldBack } = each;
  if (newest.electorate !== null && !(each.identity in newest.electorate.members)) {
    problems.push(`${endpoint} is not an elector yet: the coordinator adds it when it can reach it`);
  }
  // Every step takes a round or two.
  if (each.is_leader && heldBack !== null && heldBack.for_ms > each.ttl_ms) {
    problems.push(
      `a change of the electorate is held back for ${tellDuration(heldBack.for_ms)}: ${heldBack.detail}`,
    );
  }
  for (const { endpoint: missing } of each.is_leader ? each.missing : [])
    problems.push(`the coordinator cannot reach ${missing}`);
  if (each.is_leader && each.undelivered > 0) {
    problems.push(`${each.undelivered} decisions are not applied everywhere (see tenure tc rm list)`);
  }
  if (certificate !== null) {
    const leftMs = Date.parse(certificate.expires_at) - nowMs;
    if (leftMs <= 0) problems.push(`the certificate of ${endpoint} has expired: issue a new one`);
    else if (leftMs < WARN_BEFORE_MS)
      problems.push(`the certificate of ${endpoint} expires on ${certificate.expires_at}: issue a new one`);
  }
  return problems;
}

function differingTtls(answered: readonly StatusShape[]): readonly string[] {
  const ttls = new Map<number, string[]>();
  for (const { ttl_ms: ttl, endpoint } of answered) ttls.set(ttl, [...(ttls.get(ttl) ?? []), endpoint]);
  if (ttls.size < 2) return [];
  const shown = [...ttls].map(([ttl, endpoints]) => `${ttl} ms at ${endpoints.toSorted().join(", ")}`);
  return [`--tc-ttl differs: ${shown.join("; ")}; use the same value on all servers`];
}

function clusterOf({ electorate }: StatusShape): string | null {
  return electorate?.cluster ?? null;
}

function isNewer(a: StatusShape, b: StatusShape): boolean {
  const [aTerm = -1, aN = -1] = a.electorate?.epoch ?? [];
  const [bTerm = -1, bN = -1] = b.electorate?.epoch ?? [];
  return aTerm > bTerm || (aTerm === bTerm && aN > bN);
}
