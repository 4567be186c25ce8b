import { type CommandWords, idCommands, pathText, valueOptions } from "./words.js";

/** The same walk as in bash, with the description of each word. */
export function zshScript(all: readonly CommandWords[]): string {
  const { valued, files, choices } = valueOptions(all);
  const paths = all.map(pathText).filter((path) => path !== "");
  return `#compdef tenure
# zsh completion for tenure; in ~/.zshrc, after compinit: source <(tenure completion zsh)
_tenure() {
  local path_="" i word
  local -a described ids given
  case "\${words[CURRENT-1]}" in
    ${files.join("|")}) _files; return ;;
${[...choices].map(([flag, words]) => `    ${flag}) compadd -- ${words.join(" ")}; return ;;`).join("\n")}
    ${valued.join("|")}) return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      ${valued.join("|")}) ((i++)); continue ;;
      -*) continue ;;
    esac
    case "$path_/$word" in
      ${paths.join("|")}) path_="$path_/$word" ;;
      *) given+=("$word") ;;
    esac
  done
  case "$path_" in
${idCommands(all)
  .map(([path, kinds]) => `    "${path}") ids=(${kinds}) ;;`)
  .join("\n")}
  esac
  if [[ $PREFIX != -* ]] && (( $#given < $#ids )); then
    compadd -- \${(f)"$(tenure complete $ids[$#given+1] "$PREFIX" $given[1] 2>/dev/null)"}
    return
  fi
  case "$path_" in
${all.map((each) => `    "${pathText(each)}") described=(${describedWords(each).map(quoted).join(" ")}) ;;`).join("\n")}
  esac
  _describe tenure described
}
compdef _tenure tenure
`;
}

/** A colon separates a word from its description. */
function describedWords({ commands, choices, options }: CommandWords): string[] {
  return [
    ...commands.map(({ name, description }) => `${name}:${description}`),
    ...choices,
    ...options.map(({ flag, description }) => `${flag}:${description}`),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
