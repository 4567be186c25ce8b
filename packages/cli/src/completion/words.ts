import type { Command } from "commander";

export interface OptionWords {
  readonly flag: string;
  readonly description: string;
  /** What follows the flag: nothing, a file, one of these words, or `any` text that cannot be completed. */
  readonly value: "none" | "file" | "any" | readonly string[];
}

/** One command, by the words that lead to it. */
export interface CommandWords {
  readonly path: readonly string[];
  readonly description: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionWords[];
  /** Words that may stand as its first argument. */
  readonly choices: readonly string[];
  /** What its arguments are, if they are ids that a server knows. */
  readonly ids: readonly ("groups" | "nodes")[];
}

/** The ids that an argument of this name stands for. */
const IDS: Readonly<Record<string, "groups" | "nodes">> = { group: "groups", node: "nodes" };

/** All commands, `tenure` itself first. */
export function commandWords(command: Command, path: readonly string[] = []): CommandWords[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((each) => each.name() !== "help");
  const options = help.visibleOptions(command).flatMap((option): OptionWords[] => {
    if (option.long === undefined || option.long === null) return [];
    const { choices, description } = { choices: option.argChoices, description: option.description };
    const takes = option.required || option.optional;
    const value = !takes ? "none" : (choices ?? (/<file>|<url\|file>/.test(option.flags) ? "file" : "any"));
    return [{ flag: option.long, description, value }];
  });
  const words: CommandWords = {
    path,
    description: command.description(),
    commands: commands.map((each) => ({ name: each.name(), description: each.description() })),
    options,
    choices: command.registeredArguments[0]?.argChoices ?? [],
    ids: command.registeredArguments.flatMap((each) => IDS[each.name()] ?? []),
  };
  return [words, ...commands.flatMap((each) => commandWords(each, [...path, each.name()]))];
}

/** Options over all commands, by what follows them. */
export interface ValueOptions {
  /** All flags with a value. */
  readonly valued: readonly string[];
  readonly files: readonly string[];
  readonly choices: ReadonlyMap<string, readonly string[]>;
}

export function valueOptions(all: readonly CommandWords[]): ValueOptions {
  const options = all.flatMap((each) => each.options);
  const flags = (isWanted: (option: OptionWords) => boolean): string[] => [
    ...new Set(options.filter(isWanted).map(({ flag }) => flag)),
  ];
  return {
    valued: flags(({ value }) => value !== "none"),
    files: flags(({ value }) => value === "file"),
    choices: new Map(
      options.flatMap(({ flag, value }) => (typeof value === "string" ? [] : [[flag, value] as const])),
    ),
  };
}

/** The commands with ids as arguments, by their path: `/leader` takes groups, `/transfer` a group and a node. */
export function idCommands(
  all: readonly CommandWords[],
): readonly (readonly [path: string, kinds: string])[] {
  return all.filter(({ ids }) => ids.length > 0).map((each) => [pathText(each), each.ids.join(" ")] as const);
}

/** `/groups/create`; empty for `tenure` itself. */
export function pathText({ path }: CommandWords): string {
  return path.map((part) => `/${part}`).join("");
}
