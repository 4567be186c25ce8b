/** The `tenure` program: all of its commands, and how a failed command is reported. */
import { type Command, CommanderError } from "commander";
import { benchCommand } from "./bench/bench-command.js";
import { campaignCommand } from "./commands/campaign-command.js";
import { groupsCommand } from "./commands/groups-command.js";
import { historyCommand } from "./commands/history-command.js";
import { leaderCommand } from "./commands/leader-command.js";
import { membersCommand } from "./commands/members-command.js";
import {
  pauseCommand,
  resumeCommand,
  stepDownCommand,
  transferCommand,
} from "./commands/operate-commands.js";
import { renewCommand, resignCommand } from "./commands/renew-command.js";
import { watchCommand } from "./commands/watch-command.js";
import { completionCommand } from "./completion/completion-command.js";
import { doctorCommand } from "./doctor/doctor-command.js";
import { EXIT, READER_GONE, type Shell } from "./frame/shell.js";
import { newCommand, withExamples } from "./frame/elector-command.js";
import { tellError } from "./frame/tell-error.js";
import { caCommand } from "./peers/ca-command.js";
import { tcCommand } from "./peers/tc-command.js";
import { runCommand } from "./run/run-command.js";
import { serveCommand } from "./serve-command.js";
import { topCommand } from "./top/top-command.js";
import { whyCommand } from "./why/why-command.js";

const PURPOSE = "Leader election with leases and fencing: one leader per group, and a term that only rises.";

export function program(shell: Shell): Command {
  const all = newCommand(shell, "tenure", PURPOSE)
    .addCommand(serveCommand(shell))
    .addCommand(runCommand(shell))
    .addCommand(campaignCommand(shell))
    .addCommand(renewCommand(shell))
    .addCommand(resignCommand(shell))
    .addCommand(leaderCommand(shell))
    .addCommand(watchCommand(shell))
    .addCommand(membersCommand(shell))
    .addCommand(historyCommand(shell))
    .addCommand(whyCommand(shell))
    .addCommand(groupsCommand(shell))
    .addCommand(stepDownCommand(shell))
    .addCommand(transferCommand(shell))
    .addCommand(pauseCommand(shell))
    .addCommand(resumeCommand(shell))
    .addCommand(topCommand(shell))
    .addCommand(doctorCommand(shell))
    .addCommand(caCommand(shell))
    .addCommand(tcCommand(shell))
    .addCommand(benchCommand(shell));
  // Added last, so that it includes all commands.
  all.addCommand(completionCommand(shell, () => all));
  return withExamples(
    all,
    "tenure serve",
    "tenure campaign billing --node-id worker-1 --ttl 30s",
    "tenure top",
  );
}

/** Never throws: an error is printed as one sentence, and sets the exit code of the shell. */
export async function run(shell: Shell, args: readonly string[]): Promise<void> {
  // Set before the command line is parsed, so that a mistake in the command line is reported as JSON too.
  shell.isJson = wantsJson(args);
  try {
    await program(shell).parseAsync([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has printed the mistake already.
      shell.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
      return;
    }
    if (shell.signal.reason === READER_GONE) return;
    if (shell.signal.aborted) {
      shell.writeError("tenure: interrupted\n");
      shell.exitCode = EXIT.failed;
      return;
    }
    const { code, message, exitCode } = tellError(error);
    const report = shell.isJson ? JSON.stringify({ ok: false, error: code, message }) : `tenure: ${message}`;
    shell.writeError(`${report}\n`);
    shell.exitCode = exitCode;
  }
}

/** Arguments after `--` belong to another command. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? undefined : end).includes("--json");
}
