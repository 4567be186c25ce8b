import type { CommandWords, OptionWords } from "./words.js";

export function fishScript(all: readonly CommandWords[]): string {
  const lines = all.flatMap((each) => {
    const condition = conditionOf(each);
    return [
      ...each.commands.map(
        ({ name, description }) => `complete -c tenure -n ${condition} -a ${name} -d ${quoted(description)}`,
      ),
      ...each.choices.map((word) => `complete -c tenure -n ${condition} -a ${word}`),
      ...idLines(each, condition),
      ...each.options.map((option) => optionLine(condition, option)),
    ];
  });
  return `# fish completion for tenure; tenure completion fish > ~/.config/fish/completions/tenure.fish
# The arguments before the cursor, without the words of the command and without options.
function __tenure_given
  set -l words (commandline -opc)
  set -l given
  for word in $words[(math $argv[1] + 2)..]
    string match -q -- '-*' $word; or set -a given $word
  end
  test (count $given) -gt 0; and printf '%s\\n' $given
end
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

/** The groups are asked for, and after a group its nodes. */
function idLines({ ids, path }: CommandWords, condition: string): string[] {
  return ids.map((kind, index) => {
    const count = `test (count (__tenure_given ${path.length})) -eq ${index}`;
    const both = quoted(`${condition.slice(1, -1)}; and ${count}`);
    const group = `(__tenure_given ${path.length})[1]`;
    const ask = kind === "groups" ? "groups (commandline -ct)" : `nodes (commandline -ct) ${group}`;
    return `complete -c tenure -n ${both} -a ${quoted(`(tenure complete ${ask} 2>/dev/null)`)}`;
  });
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
