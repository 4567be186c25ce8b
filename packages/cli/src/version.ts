/** The version of this package, and `tenure version`. */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { newCommand, withExamples } from "./frame/elector-command.js";
import type { OutputFlags, Shell } from "./frame/shell.js";

export function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

export function versionLine(): string {
  return `tenure ${version()} (Node ${process.version}, ${process.platform} ${process.arch})`;
}

export function versionCommand(shell: Shell): Command {
  const command = newCommand(shell, "version", "Print the version of this command")
    .addOption(new Option("--json", "print JSON"))
    .action(({ json }: OutputFlags) => {
      shell.isJson = json === true;
      const { platform, arch, version: node } = process;
      shell.say({ version: version(), node, platform, arch }, versionLine());
    });
  return withExamples(command, "tenure version", "tenure version --json");
}
