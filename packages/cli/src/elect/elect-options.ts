/** The options of `tenure elect`. Each is also an environment variable. */
import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { durationOption } from "../frame/elector-command.js";
import type { Environment } from "../frame/shell.js";
import { type ElectionFlags, electionOptions } from "../run/election-options.js";
import { environmentOption, readEnvironment } from "../run/environment-flags.js";
import { DEFAULT_CREDENTIALS } from "./kubernetes-pods.js";

export interface ElectFlags extends ElectionFlags {
  readonly podLabel?: { readonly key: string; readonly value: string };
  readonly podName: string;
  readonly kubernetesCredentials: string;
  readonly grace: number;
}

function options(): readonly Option[] {
  return [
    ...electionOptions(),
    new Option(
      "--pod-label <key=value>",
      "label that the leader's pod gets through the Kubernetes API, and only while it leads",
    ).argParser(parseLabel),
    new Option("--pod-name <name>", "name of the pod of this process").default(hostname(), "the host name"),
    new Option("--kubernetes-credentials <directory>", "directory with token, ca.crt and namespace").default(
      DEFAULT_CREDENTIALS,
    ),
    durationOption(
      "--grace <duration>",
      "how long the lease is kept for the removal of the label when this process is stopped",
      "10s",
    ),
  ];
}

export function withElectOptions(command: Command): Command {
  for (const option of options()) environmentOption(command, option);
  return command;
}

export function readElectFlags(command: Command, flags: ElectFlags, env: Environment): ElectFlags {
  const names = new Set(options().map((option) => option.name()));
  return readEnvironment(command, flags, env, (option) => names.has(option.name()));
}

/** The name of the key leaves room for `-term`, the annotation with the term. */
const LABEL =
  /^((?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-\w.]{0,56}[A-Za-z0-9])?)=([A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)$/;

function parseLabel(text: string): { readonly key: string; readonly value: string } {
  const [, key = "", value = ""] = LABEL.exec(text) ?? [];
  if (key === "")
    throw new InvalidArgumentError(
      "Use KEY=VALUE, such as tenure-leader=billing: letters, digits, - _ and ., at most 58 for the name of the key and 63 for the value.",
    );
  return { key, value };
}
