/** The options of `tenure run`. Each is also an environment variable. */
import { constants } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type ConnectionFlags, defaultNodeId } from "../frame/connection.js";
import { durationOption } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import type { Environment, OutputFlags } from "../frame/shell.js";
import { environmentOption, readEnvironment } from "./environment-flags.js";

export interface RunFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly ttl: number;
  readonly priority?: number;
  readonly restart?: true;
  readonly once?: true;
  readonly afterLoss: "wait" | "exit";
  readonly stopSignal: NodeJS.Signals;
  readonly grace: number;
  readonly healthCmd?: string;
  readonly onWin?: string;
  readonly onLose?: string;
  readonly hookTimeout: number;
  readonly readyFile?: string;
  readonly http?: { readonly host: string; readonly port: number };
}

function options(): readonly Option[] {
  return [
    new Option("--node-id <id>", "id of the node that campaigns").default(defaultNodeId()),
    durationOption(
      "--ttl <duration>",
      "duration of the lease: how long a crashed node blocks the others",
      "5s",
    ),
    new Option("--priority <n>", "priority of this node; used if the group's strategy is priority").argParser(
      parseWhole,
    ),
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
      "--health-cmd <text>",
      "shell command that checks this node; it leads only while the exit code is 0",
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
    new Option(
      "--http <address>",
      "serve /leader, /healthz and /metrics over HTTP at this address, such as :4040",
    ).argParser(parseAddress),
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

/** `:4040` is on 127.0.0.1; for another address the host is given: `0.0.0.0:4040`. */
function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) throw new InvalidArgumentError("Use [HOST]:PORT, such as :4040.");
  return { host: host === "" ? "127.0.0.1" : host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
