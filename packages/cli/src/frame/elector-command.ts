import { Command, Option } from "commander";
import { DEFAULT_SERVER } from "./default-server.js";
import { parseDuration } from "./duration.js";
import type { Shell } from "./shell.js";

const OUTPUT = "Output options:";
const CONNECTION = "Connection options:";

/** A command that prints through the shell, and throws instead of ending the process. */
export function newCommand(shell: Shell, name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({
      // Kept until the command ends, because a hint may follow.
      outputError: (text) => (shell.wrongUse += text.replace(/^error: /, "")),
      writeOut: (text) => shell.write(text),
      writeErr: (text) => shell.writeError(text),
      getOutHelpWidth: () => shell.columns ?? HELP_WIDTH,
    })
    .configureHelp({ showGlobalOptions: false, groupItems: ownFirst });
}

/** The width of help in a pipe. */
const HELP_WIDTH = 120;

/** The options of a command itself come first, those that all commands have come last. */
function ownFirst<T>(
  _: readonly T[],
  visible: readonly T[],
  headingOf: (item: T) => string,
): Map<string, T[]> {
  const last = (item: T): number => [OUTPUT, CONNECTION].indexOf(headingOf(item));
  const groups = new Map<string, T[]>();
  for (const item of visible.toSorted((a, b) => last(a) - last(b))) {
    groups.set(headingOf(item), [...(groups.get(headingOf(item)) ?? []), item]);
  }
  return groups;
}

/** A command that uses a server or a store. */
export function electorCommand(shell: Shell, name: string, description: string): Command {
  return connectionOptions(outputOptions(newCommand(shell, name, description)));
}

/** For a command that prints text or JSON, and connects to nothing. */
export function outputOptions(command: Command): Command {
  const formats = ["text", "wide", "json"];
  return command
    .addOption(
      new Option("-o, --output <format>", "text, wide (ids in full, more columns) or json")
        .choices(formats)
        .helpGroup(OUTPUT),
    )
    .addOption(new Option("--json", "print JSON, one value per line; same as -o json").helpGroup(OUTPUT));
}

function connectionOptions(command: Command): Command {
  for (const [flags, description] of [
    [
      "--server <url>",
      `comma-separated server URLs, or host:port for http (TENURE_SERVER; default ${DEFAULT_SERVER})`,
    ],
    ["--store <url>", "store URL, to use a store directly without a server (TENURE_STORE)"],
    ["--token-file <file>", "file with a bearer token (TENURE_TOKEN_FILE)"],
    ["--ca <file>", "CA certificate file (TENURE_CA)"],
    ["--cert <file>", "client certificate file, with --key (TENURE_CERT)"],
    ["--key <file>", "private key file of the client certificate (TENURE_KEY)"],
    ["--context <name>", "context of the configuration file, see tenure config (TENURE_CONTEXT)"],
  ] as const) {
    command.addOption(new Option(flags, description).helpGroup(CONNECTION));
  }
  return command;
}

export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${examples.map((each) => `  $ ${each}`).join("\n")}`);
}

/** An option with a default, which the help shows as a user would write it. */
export function durationOption(flags: string, description: string, byDefault: string): Option {
  return new Option(flags, description).argParser(parseDuration).default(parseDuration(byDefault), byDefault);
}
