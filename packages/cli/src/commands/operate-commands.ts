/** What an operator does to a group: step-down, transfer, pause, resume. */
import { toldLease } from "@tenure/api";
import type { Command } from "commander";
import { EXIT } from "../exit-codes.js";
import { type ConnectionFlags, defaultOperator } from "../frame/connection.js";
import { parseDuration, tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import type { OutputFlags, Shell } from "../frame/shell.js";

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
  "who asks, as the event will say; over a server, who the credentials name",
] as const;

const REASON = ["--reason <text>", "why, for the audit log of the server; a store alone keeps none"] as const;

export function stepDownCommand(shell: Shell): Command {
  const command = electorCommand(shell, "step-down", "Make the leader of a group go")
    .argument("<group>")
    .option("--ban <duration>", "keep it from winning again for so long", parseDuration)
    .option("--force", "free the group at once, without waiting for the lease to end")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { ban: banMs, force, by, reason, ...flags }: StepDownFlags) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.stepDown({ groupId, by, banMs, force, reason }, { signal: shell.signal });
        const when = force === true ? "is free" : "is free when the leader resigns or its lease is over";
        shell.say({ ok: true }, `the leader of ${groupId} was told to step down; the group ${when}`);
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
  const command = electorCommand(shell, "transfer", "Hand the leadership to a node that waits for it")
    .argument("<group>")
    .argument("[node]", "the successor (default: the best ready candidate that waits)")
    .option("--timeout <duration>", "how long the leader may take to yield (default 10s)", parseDuration)
    .option("--allow-cold", "hand over to a node that is still preparing, too")
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
            { ok: true, leader: toldLease(leader) },
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
  const command = electorCommand(shell, "pause", "Let no one win a group; its leader may go on")
    .argument("<group>")
    .option("--for <duration>", "until it is over by itself (default: until resumed)", parseDuration)
    .option(...REASON)
    .action((groupId: string, { for: forMs, reason, ...flags }: ActFlags & { for?: number }) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.pause({ groupId, forMs, reason }, { signal: shell.signal });
        const until = forMs === undefined ? "until tenure resume" : `for ${tellDuration(forMs)}`;
        shell.say({ ok: true }, `nobody can win ${groupId} ${until}`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure pause billing --for 10m");
}

export function resumeCommand(shell: Shell): Command {
  const command = electorCommand(shell, "resume", "End the pause of a group")
    .argument("<group>")
    .option(...REASON)
    .action((groupId: string, { reason, ...flags }: ActFlags) =>
      shell.connected(flags, async ({ elector }) => {
        await elector.resume({ groupId, reason }, { signal: shell.signal });
        shell.say({ ok: true }, `${groupId} elects again`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure resume billing");
}
