/** What an operator does to a group: step-down, transfer, pause, resume. */
import { leaseResponse } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultOperator } from "../frame/connection.js";
import { parseDuration, tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";

interface ActFlags extends ConnectionFlags, OutputFlags {
  readonly reason?: string;
}

interface StepDownFlags extends ActFlags {
  readonly ban?: number;
  readonly force?: true;
  readonly by: string;
}

interface TransferFlags extends ActFlags {
  readonly timeout?: number;
  readonly allowCold?: true;
  readonly by: string;
}

const BY = [
  "--by <name>",
  "operator named in the event; a server takes the name from the credentials instead",
] as const;

const REASON = ["--reason <text>", "reason, for the audit log of the server; ignored with --store"] as const;

export function stepDownCommand(shell: Shell): Command {
  const command = electorCommand(shell, "step-down", "Ask the leader of a group to step down")
    .argument("<group>")
    .option("--ban <duration>", "keep the leader from winning again for this time", parseDuration)
    .option("--force", "free the group at once, without waiting for the lease to expire")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { ban: banMs, force, by, reason, ...flags }: StepDownFlags) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.stepDown({ groupId, by, banMs, force, reason }, { signal: shell.signal });
        const when = force === true ? "is free" : "is free when the leader resigns or its lease expires";
        shell.say({ ok: true }, `the leader of ${groupId} was asked to step down; the group ${when}`);
        return EXIT.done;
      }),
    );
  return withExamples(
    command,
    "tenure step-down billing --reason 'its disk is failing'",
    "tenure step-down billing --ban 5m --force",
  );
}

export function transferCommand(shell: Shell): Command {
  const command = electorCommand(shell, "transfer", "Transfer the leadership to a waiting node")
    .argument("<group>")
    .argument("[node]", "the successor (default: the best ready candidate)")
    .option(
      "--timeout <duration>",
      "how long to wait for the leader to hand over (default 10s)",
      parseDuration,
    )
    .option("--allow-cold", "allow a successor that is not ready")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action(
      (
        groupId: string,
        toNodeId: string | undefined,
        { timeout: timeoutMs, allowCold, by, reason, ...flags }: TransferFlags,
      ) =>
        shell.connected(flags, async ({ elector }) => {
          const { signal } = shell;
          const request = { groupId, toNodeId, by, timeoutMs, allowCold, reason };
          const leader = await elector.transfer(request, { signal });
          shell.say(
            { ok: true, leader: leaseResponse(leader) },
            `${leader.nodeId} leads ${groupId} now, in term ${leader.term}`,
          );
          return EXIT.done;
        }),
    );
  return withExamples(
    command,
    "tenure transfer billing worker-2",
    "tenure transfer billing worker-2 --timeout 30s",
    "tenure transfer billing",
  );
}

export function pauseCommand(shell: Shell): Command {
  const command = electorCommand(shell, "pause", "Pause elections of a group; its leader may stay")
    .argument("<group>")
    .option("--for <duration>", "end the pause after this time (default: until resumed)", parseDuration)
    .option(...REASON)
    .action((groupId: string, { for: forMs, reason, ...flags }: ActFlags & { for?: number }) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.pause({ groupId, forMs, reason }, { signal: shell.signal });
        const until = forMs === undefined ? `until tenure resume ${groupId}` : `for ${tellDuration(forMs)}`;
        shell.say({ ok: true }, `${groupId} is paused; no new leader ${until}`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure pause billing --for 10m");
}

export function resumeCommand(shell: Shell): Command {
  const command = electorCommand(shell, "resume", "Resume elections of a group")
    .argument("<group>")
    .option(...REASON)
    .action((groupId: string, { reason, ...flags }: ActFlags) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.resume({ groupId, reason }, { signal: shell.signal });
        shell.say({ ok: true }, `${groupId} resumed`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure resume billing");
}
