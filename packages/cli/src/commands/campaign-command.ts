import { leaseResponse } from "@tenure/api";
import { randomUUID } from "node:crypto";
import {
  DEFAULT_DRIFT_RATIO,
  type CampaignRequest,
  type CampaignResult,
  type Elector,
  type ElectorAdmin,
  type Group,
  InvalidRequestError,
  LedTerm,
  type Metadata,
  sendMoment,
} from "@tenure/core";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultNodeId } from "../frame/connection.js";
import { tellDuration, tellTime } from "../frame/duration.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import { tellHeldBack, tellPause } from "../run/held-back.js";

interface CampaignFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly ttl: number;
  readonly wait: number;
  readonly instance?: string;
  readonly priority?: number;
  readonly metadata?: string;
}

/** A campaign that is not answered by then waits for something. */
const REPORT_AFTER_MS = 500;

type Lost = Extract<CampaignResult, { kind: "lost" }>;

export function campaignCommand(shell: Shell): Command {
  const command = electorCommand(shell, "campaign", "Campaign for a group; exit code 3 if another node leads")
    .argument("<group>")
    .option("--node-id <id>", "id of the node that campaigns", defaultNodeId())
    .addOption(durationOption("--ttl <duration>", "duration of the lease", "15s"))
    .addOption(durationOption("--wait <duration>", "how long to wait for the leadership, up to 60s", "0s"))
    .option("--instance <id>", "instance id of this start of the node (default: a new UUID)")
    .option("--priority <n>", "priority of this node; used if the group's strategy is priority", parseWhole)
    .option("--metadata <json>", "JSON object that is shown with the leader")
    .action((groupId: string, flags: CampaignFlags) =>
      shell.connected(flags, ({ elector }) => campaign(shell, elector, groupId, flags)),
    );
  return withExamples(
    command,
    "tenure campaign billing --node-id worker-1 --ttl 30s",
    "tenure campaign billing --node-id worker-1 --wait 60s --json",
  );
}

async function campaign(
  shell: Shell,
  elector: ElectorAdmin,
  groupId: string,
  { nodeId, ttl: ttlMs, wait: waitMs, priority, instance, metadata }: CampaignFlags,
): Promise<ExitCode> {
  const request: CampaignRequest = {
    groupId,
    nodeId,
    ttlMs,
    // Random, never derived: two processes of one node must not take over each other's term.
    instanceId: instance ?? randomUUID(),
    priority,
    metadata: metadata === undefined ? undefined : parseMetadata(metadata),
    ...(waitMs === 0 ? {} : { waitMs }),
  };
  const sent = sendMoment(shell.clock);
  const result = await reportingWait(shell, elector, request, () => campaignOrLeave(shell, elector, request));
  if (result.kind === "lost") return lost(shell, request, result);
  const led = new LedTerm(result.leader.term, shell.clock, DEFAULT_DRIFT_RATIO);
  led.extend({ sent, ttlMs, waitedMs: result.waitedMs });
  const leadForMs = Math.max(0, Math.floor(led.leftMs()));
  const { leader, mandate, waitedMs, confirmed, transferTo } = result;
  shell.say(
    {
      is_leader: true,
      leader: leaseResponse(leader),
      instance_start_uuid: request.instanceId,
      lead_for_ms: leadForMs,
      ...(confirmed ? { confirmed } : {}),
      ...(mandate === undefined ? {} : { token: mandate }),
      ...(waitedMs === undefined ? {} : { waited_ms: waitedMs }),
      ...(transferTo === undefined ? {} : { transfer_to: transferTo }),
    },
    `${nodeId} leads ${groupId} in term ${leader.term} for ${tellDuration(leadForMs)}, ` +
      `until ${tellTime(shell.clock.wallMs() + leadForMs)} on this machine's clock`,
    shell.paint(
      "dim",
      `renew it with: tenure renew ${groupId} --node-id ${nodeId} --term ${leader.term} --ttl ${optionOf(ttlMs)}`,
    ),
  );
  return EXIT.done;
}

function lost(shell: Shell, request: CampaignRequest, result: Lost): ExitCode {
  const { leader, heldBack, retryAfterMs } = result;
  shell.say(
    {
      is_leader: false,
      leader: leader === null ? null : leaseResponse(leader),
      retry_after_ms: retryAfterMs,
      ...(heldBack === undefined ? {} : { held_back: heldBack }),
    },
    `${whyLost(request, result)}; retry in ${tellDuration(retryAfterMs)}`,
  );
  return EXIT.notLeader;
}

/** `found`: the answer to a campaign or to the question who leads. */
function whyLost(
  { groupId, nodeId }: CampaignRequest,
  { leader, heldBack, heldBackForMs }: Pick<Lost, "leader" | "heldBack" | "heldBackForMs">,
): string {
  if (leader === null) {
    return heldBack === undefined
      ? `${groupId} has no leader`
      : tellHeldBack(heldBack, groupId, nodeId, heldBackForMs);
  }
  // The same node with another instance id: an earlier start of it, which may still run.
  const who = leader.nodeId === nodeId ? `another start of ${nodeId}` : leader.nodeId;
  return `${who} leads ${groupId} in term ${leader.term}`;
}

/** Reports what a waiting campaign waits for, unless it is answered soon. */
async function reportingWait<T>(
  shell: Shell,
  elector: ElectorAdmin,
  request: CampaignRequest,
  work: () => Promise<T>,
): Promise<T> {
  const { groupId, waitMs = 0 } = request;
  if (waitMs === 0) return work();
  const answered = new AbortController();
  const report = async (): Promise<void> => {
    const { signal } = answered;
    const found = await elector.leader(groupId, { signal });
    const { leader, heldBack, heldBackForMs } = found;
    // A caller that may campaign need not be allowed to read the group.
    const pause = heldBack === "paused" ? await pauseOf(elector, groupId, signal).catch(() => null) : null;
    if (signal.aborted) return;
    const why = pause === null ? whyLost(request, found) : tellPause(groupId, pause, heldBackForMs);
    shell.remark(`${why}; waiting up to ${tellDuration(waitMs)}`, {
      event: "waiting",
      leader: leader?.nodeId ?? null,
      ...(heldBack === undefined ? {} : { held_back: heldBack }),
      wait_ms: waitMs,
    });
  };
  // If the question fails, the campaign does too, and reports why.
  const cancel = shell.clock.after(REPORT_AFTER_MS, () => void report().catch(() => {}));
  try {
    return await work();
  } finally {
    cancel();
    answered.abort();
  }
}

async function pauseOf(elector: ElectorAdmin, groupId: string, signal: AbortSignal): Promise<Group["pause"]> {
  return (await elector.group(groupId, { signal })).pause;
}

/** A duration as an option takes it. */
function optionOf(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/** A campaign that was interrupted may have won meanwhile: this checks, and resigns if so. */
async function campaignOrLeave(
  { signal }: Shell,
  elector: Elector,
  request: CampaignRequest,
): Promise<CampaignResult> {
  const { groupId, nodeId, instanceId } = request;
  try {
    return await elector.campaign(request, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    const { leader } = await elector.leader(groupId);
    if (leader?.nodeId === nodeId) await elector.resign({ groupId, nodeId, term: leader.term, instanceId });
    throw error;
  }
}

function parseMetadata(text: string): Metadata {
  try {
    return JSON.parse(text) as Metadata;
  } catch (cause) {
    throw new InvalidRequestError("metadata", 'must be a JSON object, such as \'{"zone":"a"}\'', { cause });
  }
}
