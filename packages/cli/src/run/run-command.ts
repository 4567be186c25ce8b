/** `tenure run`: a command in any language that runs only while this node leads. */
import type { Command } from "commander";
import type { Shell } from "../frame/shell.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { readRunFlags, type RunFlags, withRunOptions } from "./run-options.js";

export function runCommand(shell: Shell): Command {
  const command = withRunOptions(
    electorCommand(shell, "run", "Run a command only while this node leads a group")
      .argument("<group>")
      .argument(
        "<command...>",
        "command to run, after --; its environment has TENURE_TERM, TENURE_GROUP and TENURE_TOKEN",
      ),
  );
  command.action(async (groupId: string, words: string[], given: RunFlags) => {
    const flags = readRunFlags(command, given, shell.env);
    // Loaded here, because the help does not need it.
    const { Run } = await import("./run.js");
    return shell.connected(flags, (connection) => new Run(shell, connection, groupId, flags).run(words));
  });
  return withExamples(
    command,
    "tenure run billing -- ./billing-worker --verbose",
    "tenure run nightly --restart --health-cmd 'pg_isready -q' -- python3 scheduler.py",
  );
}
