/** The `tenure` program: its commands, and how a failed command is reported. */
import { Command, CommanderError } from "commander";
import { COMMANDS, type CommandEntry } from "./command-table.js";
import { newCommand, withExamples } from "./frame/elector-command.js";
import { nearest, suggestion } from "./frame/near.js";
import { EXIT, READER_GONE, type Shell } from "./frame/shell.js";
import { versionLine } from "./version.js";

const PURPOSE = "Leader election with leases and fencing: one leader per group, and a term that only rises.";

/** Options of other programs, and what they are called here. */
const FOREIGN_OPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  serve: {
    "-p": "--listen 127.0.0.1:PORT",
    "--host": "--listen HOST:7420",
    "--bind": "--listen HOST:PORT",
    "--data-dir": "--store embedded:DIRECTORY",
  },
};

/** The program with all of its commands. */
export async function wholeProgram(shell: Shell): Promise<Command> {
  return assembled(shell, await Promise.all(COMMANDS.map((entry) => entry.load(shell))));
}

/** The program for one command line: only the command that it names is loaded, of the others the help knows a line. */
async function programFor(shell: Shell, args: readonly string[]): Promise<Command> {
  const [first = "", second = ""] = args.filter((each) => !each.startsWith("-"));
  const named = first === "help" ? second : first;
  if (COMMANDS.some(({ name }) => name === named)) await shell.load();
  const commands = COMMANDS.map(async (entry) =>
    entry.name === named ? entry.load(shell) : new Command(entry.name),
  );
  return assembled(shell, await Promise.all(commands));
}

function assembled(shell: Shell, commands: readonly Command[]): Command {
  const all = newCommand(shell, "tenure", PURPOSE)
    .usage("<command> [options]")
    .version(versionLine(), "-V, --version", "print the version")
    .hook("preAction", (_, action) => {
      shell.given = action.opts();
    });
  for (const [index, command] of commands.entries()) {
    const { summary, section, isHidden } = COMMANDS[index] as CommandEntry;
    all.addCommand(command.summary(summary).helpGroup(section), { hidden: isHidden });
  }
  const section = COMMANDS.at(-1)?.section ?? "";
  all.addHelpCommand(
    new Command("help").argument("[command]").summary("Show the help of a command").helpGroup(section),
  );
  all.addHelpText("after", "\nSee tenure <command> --help for its options and examples.");
  return withExamples(
    all,
    "tenure serve",
    "tenure campaign billing --node-id worker-1 --ttl 30s",
    "tenure top",
  );
}

/** Never throws: an error is printed as one sentence, and sets the exit code of the shell. */
export async function run(shell: Shell, args: readonly string[]): Promise<void> {
  // Set before the command line is parsed, so that a mistake in the command line is reported as JSON too.
  shell.isJson = wantsJson(args);
  let all: Command | null = null;
  try {
    all = await programFor(shell, args);
    await all.parseAsync([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      shell.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.wrongUse;
      if (shell.wrongUse !== "" && all !== null) tellWrongUse(shell, all, error, args);
      return;
    }
    if (shell.signal.reason === READER_GONE) return;
    if (shell.signal.aborted) {
      shell.writeError("tenure: interrupted\n");
      shell.exitCode = EXIT.failed;
      return;
    }
    // Loaded here, because it knows the errors of core, which a command line without mistakes does not need.
    const { explainError } = await import("./frame/tell-error.js");
    const { code, message, exitCode } = await explainError(error, shell);
    const report = shell.isJson ? JSON.stringify({ ok: false, error: code, message }) : `tenure: ${message}`;
    shell.writeError(`${report}\n`);
    shell.exitCode = exitCode;
  }
}

function tellWrongUse(shell: Shell, all: Command, { code }: CommanderError, args: readonly string[]): void {
  const [sentence = "", ...rest] = (wrongSubcommand(all, code, args) ?? shell.wrongUse).trim().split("\n");
  const hint = code === "commander.unknownOption" ? foreignOption(args) : null;
  const lines = [sentence, ...(hint === null ? rest : [`(${hint})`])];
  shell.writeError(
    shell.isJson
      ? `${JSON.stringify({ ok: false, error: "INVALID_REQUEST", message: lines.join(" ") })}\n`
      : `tenure: ${lines.join("\n")}\n`,
  );
}

/** `tenure groups lst`: the parser takes the word for an argument of the default command, `list`. */
function wrongSubcommand(all: Command, code: string, args: readonly string[]): string | null {
  if (code !== "commander.excessArguments") return null;
  const [name, word = ""] = args.filter((each) => !each.startsWith("-"));
  const names = all.commands.find((each) => each.name() === name)?.commands.map((each) => each.name()) ?? [];
  if (names.length === 0 || names.includes(word)) return null;
  const next = suggestion(nearest(word, names), `the commands are ${names.join(", ")}`);
  return `unknown command '${word}' of tenure ${name}\n(${next.charAt(0).toUpperCase()}${next.slice(1)})`;
}

function foreignOption(args: readonly string[]): string | null {
  const [name = "", ...rest] = args;
  const known = FOREIGN_OPTIONS[name] ?? {};
  for (const each of rest) {
    const instead = known[each.replace(/=.*$/, "")];
    if (instead !== undefined) return `Did you mean ${instead}?`;
  }
  return null;
}

/** Arguments after `--` belong to another command. */
function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const own = args.slice(0, end === -1 ? undefined : end);
  return own.some(
    (each, index) =>
      /^(?:--json|-o=?json|--output=json)$/.test(each) ||
      (each === "json" && ["-o", "--output"].includes(own[index - 1] ?? "")),
  );
}
