import { Argument, type Command } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import type { Shell } from "../frame/shell.js";
import { bashScript } from "./bash.js";
import { fishScript } from "./fish.js";
import { commandWords } from "./words.js";
import { zshScript } from "./zsh.js";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function completionCommand(shell: Shell, whole: () => Command): Command {
  const command = newCommand(shell, "completion", "Print a completion script for a shell")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .action((name: keyof typeof SCRIPTS) => shell.write(SCRIPTS[name](commandWords(whole()))));
  return withExamples(
    command,
    "source <(tenure completion bash)",
    "tenure completion fish > ~/.config/fish/completions/tenure.fish",
  );
}
