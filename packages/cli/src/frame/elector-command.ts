import { Command, Option } from "commander";
import { DEFAULT_SERVER } from "./connection.js";
import { parseDuration } from "./duration.js";
import type { Shell } from "./shell.js";

/** A command that prints through the shell, and throws instead of ending the process. */
export function newCommand(shell: Shell, name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) =>
        write(shell.isJson ? tellWrongUse(text) : text.replace(/^error: /, "tenure: ")),
      writeOut: (text) => shell.write(text),
      writeErr: (text) => shell.writeError(text),
    })
    .configureHelp({ showGlobalOptions: false });
}

function tellWrongUse(text: string): string {
  const message = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return `${JSON.stringify({ ok: false, error: "INVALID_REQUEST", message })}\n`;
}

/** A command that uses a server or a store. */
export function electorCommand(shell: Shell, name: string, description: string): Command {
  return newCommand(shell, name, description)
    .addOption(
      new Option("--server <url>", `comma-separated server URLs (TENURE_SERVER; default ${DEFAULT_SERVER})`),
    )
    .addOption(
      new Option("--store <url>", "store URL, to use a store directly without a server (TENURE_STORE)"),
    )
    .addOption(new Option("--token-file <file>", "file with a bearer token (TENURE_TOKEN_FILE)"))
    .addOption(new Option("--ca <file>", "CA certificate file (TENURE_CA)"))
    .addOption(new Option("--cert <file>", "client certificate file, with --key (TENURE_CERT)"))
    .addOption(new Option("--key <file>", "private key file of the client certificate (TENURE_KEY)"))
    .addOption(new Option("--json", "print JSON, one value per line"));
}

export function withExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${examples.map((each) => `  $ ${each}`).join("\n")}`);
}

/** An option with a default, which the help shows as a user would write it. */
export function durationOption(flags: string, description: string, byDefault: string): Option {
  return new Option(flags, description).argParser(parseDuration).default(parseDuration(byDefault), byDefault);
}
