import { leaseResponse } from "@tenure/api";
import { randomUUID } from "node:crypto";
import {
  DEFAULT_DRIFT_RATIO,
  type CampaignRequest,
  type CampaignResult,
  type Elector,
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

interface CampaignFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly ttl: number;
  readonly wait: number;
  readonly instance?: string;
  readonly priority?: number;
  readonly metadata?: string;
}

/** Why a vacant group has no election now. */
const HELD_BACK: Readonly<Record<string, string>> = {
  paused: "the group is paused",
  takeover_delay: "the takeover delay after an expired lease is running",
  banned: "this node is banned after a step-down",
  reserved: "the group is reserved for another node",
  deposed: "the leader was asked to step down and its lease has not expired",
};

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
  elector: Elector,
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
  const result = await campaignOrLeave(shell, elector, request);
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
      `renew it with: tenure renew ${groupId} --node-id ${nodeId} --term ${leader.term} --ttl ${ttlMs}ms`,
    ),
  );
  return EXIT.done;
}

function lost(
  shell: Shell,
  { groupId }: CampaignRequest,
  { leader, heldBack, retryAfterMs }: CampaignResult & { kind: "lost" },
): ExitCode {
  const why =
    leader === null
      ? `${groupId} has no leader and elects none now: ${HELD_BACK[heldBack ?? ""] ?? "the group is held back"}`
      : `${leader.nodeId} leads ${groupId} in term ${leader.term}`;
  shell.say(
    {
      is_leader: false,
      leader: leader === null ? null : leaseResponse(leader),
      retry_after_ms: retryAfterMs,
      ...(heldBack === undefined ? {} : { held_back: heldBack }),
    },
    `${why}; retry in ${tellDuration(retryAfterMs)}`,
  );
  return EXIT.notLeader;
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
