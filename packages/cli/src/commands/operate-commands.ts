/** What an operator does to a group: step-down, transfer, pause, resume. */
import { leaseResponse } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultOperator } from "../frame/connection.js";
import { parseDuration, tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { ofGroup } from "../frame/named-group.js";
import { BY, REASON } from "./act-options.js";

interface ActFlags extends ConnectionFlags, OutputFlags {
  readonly reason?: string;
  readonly by: string;
}

interface StepDownFlags extends ActFlags {
  readonly ban?: number;
  readonly force?: true;
}

interface TransferFlags extends ActFlags {
  readonly timeout?: number;
  readonly allowCold?: true;
}

interface PauseFlags extends ActFlags {
  readonly for?: number;
  readonly create?: true;
}

export function stepDownCommand(shell: Shell): Command {
  const command = electorCommand(shell, "step-down", "Ask the leader of a group to step down")
    .argument("<group>")
    .option("--ban <duration>", "keep the leader from winning again for this time", parseDuration)
    .option("--force", "free the group at once, without waiting for the lease to expire")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { ban: banMs, force, by, reason, ...flags }: StepDownFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [group] = await ofGroup(elector, groupId, signal, async () => [
          await elector.group(groupId, { signal }),
          await elector.stepDown({ groupId, by, banMs, force, reason }, { signal }),
        ]);
        const leader = group.leader === null ? "the leader" : group.leader.nodeId;
        const banned = banMs === undefined ? "" : `; ${leader} cannot win again for ${tellDuration(banMs)}`;
        shell.say(
          { ok: true },
          force === true
            ? `${leader} no longer leads ${groupId}; the group is free${banned}`
            : `${leader} was asked to step down; ${groupId} is free when it resigns or its lease expires${banned}`,
        );
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
          const leader = await ofGroup(elector, groupId, signal, () => elector.transfer(request, { signal }));
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
    .option("--create", "create the group if it does not exist")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { for: forMs, create, reason, by, ...flags }: PauseFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const request = { groupId, by, forMs, create, reason };
        await ofGroup(elector, groupId, signal, () => elector.pause(request, { signal }));
        const until = forMs === undefined ? `until tenure resume ${groupId}` : `for ${tellDuration(forMs)}`;
        shell.say({ ok: true }, `${groupId} is paused; no new leader ${until}`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure pause billing --for 10m --reason 'database migration'");
}

export function resumeCommand(shell: Shell): Command {
  const command = electorCommand(shell, "resume", "Resume elections of a group")
    .argument("<group>")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { reason, by, ...flags }: ActFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [group] = await ofGroup(elector, groupId, signal, async () => [
          await elector.group(groupId, { signal }),
          await elector.resume({ groupId, by, reason }, { signal }),
        ]);
        shell.say(
          { ok: true },
          group.pausedForMs === null ? `${groupId} was not paused` : `${groupId} resumed`,
        );
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure resume billing");
}
