/** The options that `tenure run` and `tenure elect` share. */
import { InvalidArgumentError, Option } from "commander";
import { type ConnectionFlags, defaultNodeId } from "../frame/connection.js";
import { durationOption } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import type { OutputFlags } from "../frame/shell.js";

export interface ElectionFlags extends ConnectionFlags, OutputFlags {
  readonly nodeId: string;
  readonly ttl: number;
  readonly priority?: number;
  readonly healthCmd?: string;
  readonly http?: { readonly host: string; readonly port: number };
}

export function electionOptions(): readonly Option[] {
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
    new Option(
      "--health-cmd <text>",
      "shell command that checks this node; it leads only while the exit code is 0",
    ),
    new Option(
      "--http <address>",
      "serve /leader, /healthz and /metrics over HTTP at this address, such as :4040",
    ).argParser(parseAddress),
  ];
}

/** `:4040` is on 127.0.0.1; for another address the host is given: `0.0.0.0:4040`. */
function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65_535) throw new InvalidArgumentError("Use [HOST]:PORT, such as :4040.");
  return { host: host === "" ? "127.0.0.1" : host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
