/** The options of `tenure run`. Each is also an environment variable. */
import { constants } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { durationOption } from "../frame/elector-command.js";
import type { Environment } from "../frame/shell.js";
import { type ElectionFlags, electionOptions } from "./election-options.js";
import { environmentOption, readEnvironment } from "./environment-flags.js";

export interface RunFlags extends ElectionFlags {
  readonly restart?: true;
  readonly once?: true;
  readonly afterLoss: "wait" | "exit";
  readonly stopSignal: NodeJS.Signals;
  readonly grace: number;
  readonly onWin?: string;
  readonly onLose?: string;
  readonly hookTimeout: number;
  readonly readyFile?: string;
}

function options(): readonly Option[] {
  return [
    ...electionOptions(),
    new Option("--restart", "run the command again after it exits"),
    new Option("--once", "do not wait: exit with code 3 if this node does not lead at once"),
    new Option("--after-loss <what>", "after losing the leadership: campaign again, or exit with code 3")
      .choices(["wait", "exit"])
      .default("wait"),
    new Option("--stop-signal <name>", "signal that stops the command")
      .argParser(parseSignal)
      .default("SIGTERM"),
    durationOption(
      "--grace <duration>",
      "time between the stop signal and SIGKILL; shorter if the lease expires sooner",
      "10s",
    ),
    new Option(
      "--on-win <text>",
      "shell command that runs before the command, each time this node is elected",
    ),
    new Option(
      "--on-lose <text>",
      "shell command that runs after the command has ended, each time this node led",
    ),
    durationOption("--hook-timeout <duration>", "time after which --on-win or --on-lose is killed", "10s"),
    new Option("--ready-file <file>", "file that contains the term and exists only while the command runs"),
  ];
}

export function withRunOptions(command: Command): Command {
  for (const option of options()) environmentOption(command, option);
  return command;
}

export function readRunFlags(command: Command, flags: RunFlags, env: Environment): RunFlags {
  const names = new Set(options().map((option) => option.name()));
  return readEnvironment(command, flags, env, (option) => names.has(option.name()));
}

function parseSignal(text: string): NodeJS.Signals {
  const name = (text.startsWith("SIG") ? text : `SIG${text}`).toUpperCase();
  if (!Object.hasOwn(constants.signals, name))
    throw new InvalidArgumentError("Use a signal name, such as SIGTERM.");
  return name as NodeJS.Signals;
}
