import { Argument, type Command } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { wholeProgram } from "../program.js";
import type { Shell } from "../frame/shell.js";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { powershellScript } from "./powershell.js";
import { commandWords } from "./words.js";
import { zshScript } from "./zsh.js";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript, powershell: powershellScript };

export function completionCommand(shell: Shell): Command {
  const command = newCommand(shell, "completion", "Print a completion script for a shell")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .action(async (name: keyof typeof SCRIPTS) =>
      shell.write(SCRIPTS[name](commandWords(await wholeProgram(shell)))),
    );
  return withExamples(
    command,
    "source <(tenure completion bash)",
    "tenure completion fish > ~/.config/fish/completions/tenure.fish",
  );
}
