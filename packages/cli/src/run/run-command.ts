/** `tenure run`: a command in any language that runs only while this node leads. */
import { constants } from "node:os";
import { rm, writeFile } from "node:fs/promises";
import { Election, type Mandate } from "@tenure/client";
import { type ElectorAdmin, InvalidRequestError } from "@tenure/core";
import { type Command, InvalidArgumentError, Option } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultNodeId } from "../frame/connection.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import { healthCommand } from "./health-command.js";
import { LedCommand, type RunEnd } from "./led-command.js";
import { RunTeller } from "./run-teller.js";
import { StatusEndpoint } from "./status-endpoint.js";

interface RunFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly ttl: number;
  readonly priority?: number;
  readonly restart?: true;
  readonly once?: true;
  readonly onLose: "wait" | "exit";
  readonly stopSignal: NodeJS.Signals;
  readonly grace: number;
  readonly healthCmd?: string;
  readonly readyFile?: string;
  readonly http?: { readonly host: string; readonly port: number };
}

export function runCommand(shell: Shell): Command {
  const command = electorCommand(shell, "run", "Run a command only while this node leads a group")
    .argument("<group>")
    .argument(
      "<command...>",
      "command to run, after --; its environment has TENURE_TERM, TENURE_GROUP and TENURE_TOKEN",
    )
    .option("--node-id <id>", "id of the node that campaigns", defaultNodeId())
    .addOption(
      durationOption(
        "--ttl <duration>",
        "duration of the lease: how long a crashed node blocks the others",
        "5s",
      ),
    )
    .option("--priority <n>", "priority of this node; used if the group's strategy is priority", parseWhole)
    .option("--restart", "run the command again after it exits")
    .option("--once", "do not wait: exit with code 3 if another node leads")
    .addOption(
      new Option("--on-lose <what>", "after losing the leadership: campaign again, or exit with code 3")
        .choices(["wait", "exit"])
        .default("wait"),
    )
    .option("--stop-signal <name>", "signal that stops the command", parseSignal, "SIGTERM" as NodeJS.Signals)
    .addOption(
      durationOption(
        "--grace <duration>",
        "time between the stop signal and SIGKILL; shorter if the lease expires sooner",
        "10s",
      ),
    )
    .option(
      "--health-cmd <text>",
      "shell command that checks this node; it leads only while the exit code is 0",
    )
    .option("--ready-file <file>", "file that contains the term and exists only while the command runs")
    .option(
      "--http <address>",
      "serve {name, is_leader, term} over HTTP at this address, such as :4040",
      parseAddress,
    )
    .action((groupId: string, words: string[], flags: RunFlags) =>
      shell.connected(flags, ({ elector }) => run(shell, elector, groupId, words, flags)),
    );
  return withExamples(
    command,
    "tenure run billing -- ./billing-worker --verbose",
    "tenure run nightly --restart --health-cmd 'pg_isready -q' -- python3 scheduler.py",
    "tenure run sidecar --http :4040 -- sleep infinity",
  );
}

async function run(
  shell: Shell,
  elector: ElectorAdmin,
  groupId: string,
  [file = "", ...args]: readonly string[],
  flags: RunFlags,
): Promise<number> {
  const { nodeId, ttl: ttlMs, priority, healthCmd, readyFile, http } = flags;
  const election = new Election(elector, {
    groupId,
    nodeId,
    ttlMs,
    priority,
    // Time to handle the signal before the command is killed.
    stopMarginMs: Math.ceil(ttlMs / 5),
    healthChecker: healthCmd === undefined ? undefined : healthCommand(healthCmd),
    clock: shell.clock,
  });
  const endpoint = http === undefined ? null : await StatusEndpoint.open(election, http);
  const teller = new RunTeller(shell, groupId, nodeId);
  const command = new LedCommand({
    election,
    file,
    args,
    env: shell.env,
    restart: flags.restart === true,
    once: flags.once === true,
    exitWhenLost: flags.onLose === "exit",
    stopSignal: flags.stopSignal,
    graceMs: flags.grace,
    killMarginMs: Math.ceil(ttlMs / 20),
    tellEveryMs: Math.ceil(ttlMs / 20),
    restartDelayMs: 1000,
    clock: shell.clock,
    running: async ({ term }: Mandate) => {
      teller.leads(term);
      if (readyFile !== undefined) await writeReady(readyFile, term);
    },
    ended: async () => {
      if (readyFile !== undefined) await rm(readyFile, { force: true });
    },
    notice: (event) => teller.notice(event),
  });
  try {
    return tellEnd(shell, groupId, await command.run(shell.signal));
  } finally {
    await endpoint?.close();
  }
}

async function writeReady(path: string, term: number): Promise<void> {
  try {
    await writeFile(path, `${term}\n`);
  } catch (cause) {
    throw new InvalidRequestError("--ready-file", `cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** The exit code of the command, as a shell reports it; 3 if this node does not lead. */
function tellEnd(shell: Shell, groupId: string, ended: RunEnd): number {
  switch (ended.kind) {
    case "ended": {
      const { code, signal } = ended.end;
      return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    }
    case "lost":
      shell.remark(`this node does not lead ${groupId}`, { is_leader: false });
      return EXIT.notLeader;
    case "stopped":
      return EXIT.done;
  }
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
