import { InvalidRequestError } from "@tenure/core";
import { type Command, InvalidArgumentError, type Option } from "commander";
import type { Environment } from "../frame/shell.js";

/** `--stop-signal` is `TENURE_STOP_SIGNAL`. */
export function variableOf(option: Option): string {
  return `TENURE_${option.name().toUpperCase().replaceAll("-", "_")}`;
}

/** Adds an option that is also an environment variable, which its help names. */
export function environmentOption(command: Command, option: Option): Command {
  option.description += ` (${variableOf(option)})`;
  return command.addOption(option);
}

/**
 * The flags of a command, with those that the command line leaves out taken from the environment. An empty variable counts as not set.
 * A wrong value is reported with the name of the variable.
 */
export function readEnvironment<Flags extends object>(
  command: Command,
  flags: Flags,
  env: Environment,
  isRead: (option: Option) => boolean,
): Flags {
  const read: Record<string, unknown> = Object.fromEntries(Object.entries(flags));
  for (const option of command.options.filter(isRead)) {
    const text = env[variableOf(option)] ?? "";
    const key = option.attributeName();
    if (text !== "" && command.getOptionValueSource(key) !== "cli") read[key] = parsed(option, text);
  }
  return read as Flags;
}

function parsed(option: Option, text: string): unknown {
  const variable = variableOf(option);
  if (option.isBoolean()) return isOn(variable, text) ? true : undefined;
  if (option.parseArg === undefined) return text;
  try {
    return option.parseArg(text, undefined);
  } catch (cause) {
    if (!(cause instanceof InvalidArgumentError)) throw cause;
    throw new InvalidRequestError(variable, `is "${text}", which is invalid. ${cause.message}`, { cause });
  }
}

function isOn(variable: string, text: string): boolean {
  if (["true", "1", "yes"].includes(text.toLowerCase())) return true;
  if (["false", "0", "no"].includes(text.toLowerCase())) return false;
  throw new InvalidRequestError(variable, `is "${text}" and must be true or false`);
}
