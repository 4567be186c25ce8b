import type { CommandWords, OptionWords } from "./words.js";

export function fishScript(all: readonly CommandWords[]): string {
  const lines = all.flatMap((each) => {
    const condition = conditionOf(each);
    return [
      ...each.commands.map(
        ({ name, description }) => `complete -c tenure -n ${condition} -a ${name} -d ${quoted(description)}`,
      ),
      ...each.choices.map((word) => `complete -c tenure -n ${condition} -a ${word}`),
      ...each.options.map((option) => optionLine(condition, option)),
    ];
  });
  return `# fish completion for tenure; tenure completion fish > ~/.config/fish/completions/tenure.fish
complete -c tenure -f
${lines.join("\n")}
`;
}

/** True if all words of the command were typed, and no subcommand after them. */
function conditionOf({ path, commands }: CommandWords): string {
  const given = path.map((word) => `__fish_seen_subcommand_from ${word}`);
  const deeper = commands.map(({ name }) => name);
  const none = deeper.length === 0 ? [] : [`not __fish_seen_subcommand_from ${deeper.join(" ")}`];
  return quoted([...given, ...none].join("; and ") || "true");
}

function optionLine(condition: string, { flag, description, value }: OptionWords): string {
  const takes =
    value === "none"
      ? ""
      : value === "file"
        ? " -r -F"
        : value === "any"
          ? " -x"
          : ` -x -a ${quoted(value.join(" "))}`;
  return `complete -c tenure -n ${condition} -l ${flag.slice(2)}${takes} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
