/** Command lines of `tenure` in files of `deploy/`: the command, its options and its variables must exist. */
import type { Command } from "commander";
import { Shell } from "../frame/shell.js";
import { wholeProgram } from "../program.js";
import { variableOf } from "../run/environment-flags.js";

const CONNECTION = ["SERVER", "STORE", "TOKEN_FILE", "CA", "CERT", "KEY", "CONTEXT"].map(
  (name) => `TENURE_${name}`,
);

export class CommandLines {
  readonly #commands: readonly Command[];

  static async load(): Promise<CommandLines> {
    const out = { write: () => {} };
    const shell = new Shell({ out, err: out, env: {}, signal: new AbortController().signal });
    await shell.load();
    return new CommandLines((await wholeProgram(shell)).commands);
  }

  private constructor(commands: readonly Command[]) {
    this.#commands = commands;
  }

  /** What is wrong with `tenure ARGS` in this environment; empty if nothing is. */
  problems(args: readonly string[], variables: readonly string[]): string[] {
    const [name = "", ...rest] = args;
    const command = this.#commands.find((each) => each.name() === name);
    if (command === undefined) return [`tenure has no command ${name}`];
    const end = rest.indexOf("--");
    const own = rest.slice(0, end === -1 ? undefined : end);
    const options = own.filter((each) => each.startsWith("-")).map((each) => each.split("=")[0] ?? "");
    const known = new Set(command.options.flatMap(({ long, short }) => [long, short]));
    const knownVariables = new Set([
      ...command.options.map((option) => option.envVar ?? variableOf(option)),
      ...CONNECTION,
      "TENURE_VERSION",
    ]);
    return [
      ...options.filter((each) => !known.has(each)).map((each) => `tenure ${name} has no option ${each}`),
      ...variables
        .filter((each) => each.startsWith("TENURE_") && !knownVariables.has(each))
        .map((each) => `tenure ${name} has no variable ${each}`),
    ];
  }
}
