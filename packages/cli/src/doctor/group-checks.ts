/**
 * What needs attention about the groups: the same findings as the attention list of a server. A server is asked for its list; over a
 * store, and for a server without the list, the findings are made here from groups, histories and members.
 */
import { type Finding as Attention, factsOf, findingOf, groupFindings, type shapes } from "@tenure/api";
import type { ElectorAdmin, Group } from "@tenure/core";
import { probe } from "../frame/http-probe.js";
import { DOCTOR_GROUP } from "./doctor-term.js";
import { type Finding, messageOf, note, ok } from "./finding.js";
import type { ServerOf } from "./server-checks.js";

const MAX_GROUPS = 500;
const MAX_NAMED = 5;
const AT_ONCE = 8;

export interface GroupCheckDeps {
  /** None: a store is checked. */
  readonly servers: readonly ServerOf[];
  readonly elector: ElectorAdmin;
  readonly groups: readonly Group[];
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export async function checkGroups(deps: GroupCheckDeps): Promise<Finding[]> {
  const lists = await Promise.all(deps.servers.map(attentionOf));
  const listed = lists.find((list) => list !== null);
  const [found, findings]: [readonly Attention[], Finding[]] =
    listed === undefined ? await examineGroups(deps) : [listed, []];
  for (const [index, list] of lists.entries())
    findings.push(...(list ?? []).flatMap((each) => aboutServer(each, deps.servers[index]?.url ?? "")));
  const ofGroups = found.filter(({ groupId }) => groupId !== null && groupId !== DOCTOR_GROUP);
  findings.push(...ofGroups.filter(({ kind }) => kind !== "no_standby").map(aboutGroup));
  findings.push(...alone(ofGroups.filter(({ kind }) => kind === "no_standby")));
  findings.push(...calm(ofGroups, deps.groups.length));
  return findings;
}

const RESTLESS: ReadonlySet<Attention["kind"]> = new Set(["flapping", "vacant", "paused_long"]);

/** That no group flaps or lacks a leader, if no finding says otherwise, however severe that finding is. */
export function calm(found: readonly Attention[], known: number): Finding[] {
  if (found.some(({ kind }) => RESTLESS.has(kind))) return [];
  return [ok("groups", `${known} known; none flaps or lacks a leader`)];
}

/** `null`: the server does not show its list, because it is older than the list or does not answer. */
async function attentionOf({ url, access }: ServerOf): Promise<readonly Attention[] | null> {
  try {
    const { status, text } = await probe(`${url}/v1/attention`, access);
    if (status !== 200) return null;
    return (JSON.parse(text) as shapes.AttentionReply).findings.map(findingOf);
  } catch {
    return null;
  }
}

async function examineGroups({
  elector,
  groups,
  nowMs,
  signal,
}: GroupCheckDeps): Promise<[Attention[], Finding[]]> {
  const examined = groups.slice(0, MAX_GROUPS);
  const found: Attention[] = [];
  const findings: Finding[] = [];
  const queue = [...examined];
  const drain = async (): Promise<void> => {
    for (let group = queue.shift(); group !== undefined; group = queue.shift()) {
      const { groupId } = group;
      try {
        const [{ events }, members] = await Promise.all([
          elector.history(groupId, { signal }),
          elector.members(groupId, { signal }),
        ]);
        found.push(...groupFindings(factsOf(group, events, members, nowMs), nowMs));
      } catch (error) {
        signal.throwIfAborted();
        findings.push(note(`group ${groupId}`, `could not be checked: ${messageOf(error)}`));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
  const rest = groups.length - examined.length;
  if (rest > 0) findings.push(note("groups", `${rest} of ${groups.length} were not checked`));
  return [found, findings];
}

const LEVELS = { problem: "wrong", warning: "warning", note: "note" } as const;

function aboutGroup({ severity, groupId, kind, summary, nextStep }: Attention): Finding {
  return { level: LEVELS[severity], about: `group ${groupId ?? ""}`, kind, says: summary, advice: nextStep };
}

/** The certificate is left out, because doctor has seen it in the handshake. */
function aboutServer({ severity, groupId, kind, summary, nextStep }: Attention, url: string): Finding[] {
  if (groupId !== null || kind === "certificate_expiring") return [];
  return [{ level: LEVELS[severity], about: `server ${url}`, kind, says: summary, advice: nextStep }];
}

/** One finding for all such groups, because there are many where one node runs everything. */
export function alone(found: readonly Attention[]): Finding[] {
  if (found.length === 0) return [];
  const groupIds = found.map(({ groupId }) => groupId ?? "").toSorted();
  const named = groupIds.slice(0, MAX_NAMED).join(", ");
  const others = groupIds.length - MAX_NAMED;
  const all = others > 0 ? `${named} and ${others} more` : named;
  const says = `no candidate could take over ${all} if the leader fails`;
  const advice = "start a second node for each group, unless it may be without a leader";
  return [{ ...note("groups", says, advice), kind: "no_standby" }];
}
