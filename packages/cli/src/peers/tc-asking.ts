/** What all commands of `tenure tc` have in common: their flags, and how they end when a server refuses. */
import type { CallAnswer } from "@tenure/peers";
import { type Command, Option } from "commander";
import { EXIT, type Shell } from "../frame/shell.js";
import { newCommand } from "../frame/elector-command.js";

export type Body = Readonly<Record<string, unknown>>;

/** The text of a field of an answer. */
export function word(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function askingCommand(shell: Shell, name: string, description: string): Command {
  return newCommand(shell, name, description)
    .addOption(
      new Option(
        "--server <url>",
        "comma-separated server URLs (TENURE_SERVER; default https://127.0.0.1:7420)",
      ),
    )
    .addOption(
      new Option("--bundle <file>", "bundle file of the caller, made by tenure ca issue (TENURE_BUNDLE)"),
    )
    .addOption(new Option("--json", "print JSON"));
}

/** Prints a refusal in the words of the server; its error code decides the exit code. */
export function refuse(shell: Shell, answer: CallAnswer): void {
  const { error, detail, message } = answer.body;
  const sentence = `tenure: ${word(detail ?? message ?? "refused")} (${word(error)})`;
  shell.writeError(`${shell.isJson ? JSON.stringify(answer.body) : sentence}\n`);
  shell.exitCode =
    error === "tc_not_leader" ? EXIT.notLeader : answer.status >= 500 ? EXIT.unavailable : EXIT.failed;
}
