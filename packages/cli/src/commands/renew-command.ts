import { leaseResponse } from "@tenure/api";
import { DEFAULT_DRIFT_RATIO, LedTerm, type NotLeader, sendMoment } from "@tenure/core";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultNodeId } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";

interface ClaimFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly term: number;
  readonly instance?: string;
}

export function renewCommand(shell: Shell): Command {
  const command = claimCommand(shell, "renew", "Renew the lease of a term; exit code 3 if the term has ended")
    .addOption(durationOption("--ttl <duration>", "new duration of the lease, from now", "15s"))
    .action((groupId: string, flags: ClaimFlags & { ttl: number }) =>
      shell.connected(flags, async ({ elector }) => {
        const { nodeId, term, instance: instanceId, ttl: ttlMs } = flags;
        const sent = sendMoment(shell.clock);
        const { signal } = shell;
        const result = await elector.renew({ groupId, nodeId, term, ttlMs, instanceId }, { signal });
        if (result.kind === "not-leader") return notLeader(shell, groupId, flags, result);
        const led = new LedTerm(term, shell.clock, DEFAULT_DRIFT_RATIO);
        led.extend({ sent, ttlMs });
        const leadForMs = Math.max(0, Math.floor(led.leftMs()));
        const { leader, transferTo, mandate } = result;
        const hint =
          transferTo === undefined ? "" : `; ${transferTo} waits to take over: finish the work, then resign`;
        shell.say(
          {
            ok: true,
            leader: leaseResponse(leader),
            lead_for_ms: leadForMs,
            ...(mandate === undefined ? {} : { token: mandate }),
            ...(transferTo === undefined ? {} : { transfer_to: transferTo }),
          },
          `${nodeId} leads ${groupId} in term ${term} for another ${tellDuration(leadForMs)}${hint}`,
        );
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure renew billing --node-id worker-1 --term 3 --ttl 30s");
}

export function resignCommand(shell: Shell): Command {
  const command = claimCommand(
    shell,
    "resign",
    "Resign from a term, which may be repeated; exit code 3 if the node did not hold it",
  ).action((groupId: string, flags: ClaimFlags) =>
    shell.connected(flags, async ({ elector }) => {
      const { nodeId, term, instance: instanceId } = flags;
      const { signal } = shell;
      const result = await elector.resign({ groupId, nodeId, term, instanceId }, { signal });
      if (result.kind === "not-leader") return notLeader(shell, groupId, flags, result);
      shell.say({ ok: true }, `${nodeId} no longer leads ${groupId}; term ${term} ended`);
      return EXIT.done;
    }),
  );
  return withExamples(command, "tenure resign billing --node-id worker-1 --term 3");
}

function claimCommand(shell: Shell, name: string, description: string): Command {
  return electorCommand(shell, name, description)
    .argument("<group>")
    .option("--node-id <id>", "id of the node that won the term", defaultNodeId())
    .requiredOption("--term <n>", "term that the node won", parseWhole)
    .option("--instance <id>", "instance id that campaign printed");
}

function notLeader(
  shell: Shell,
  groupId: string,
  { nodeId, term }: ClaimFlags,
  { currentLeader }: NotLeader,
): ExitCode {
  const now =
    currentLeader === null
      ? "the group has no leader"
      : `${currentLeader.nodeId} leads, term ${currentLeader.term}`;
  shell.say(
    {
      ok: false,
      error: "NOT_LEADER",
      current_leader:
        currentLeader === null ? null : { node_id: currentLeader.nodeId, term: currentLeader.term },
    },
    `${nodeId} does not hold term ${term} of ${groupId}: ${now}; stop its work, then campaign again`,
  );
  return EXIT.notLeader;
}
