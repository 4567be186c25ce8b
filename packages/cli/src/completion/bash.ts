import { type CommandWords, idCommands, pathText, valueOptions } from "./words.js";

/**
 * The words before the cursor are walked once: those that name a command lead deeper, what an option takes is passed
 * over. Then the words of the command that was reached are offered.
 */
export function bashScript(all: readonly CommandWords[]): string {
  const { valued, files, choices } = valueOptions(all);
  const paths = all.map(pathText).filter((path) => path !== "");
  return `# bash completion for tenure; in ~/.bashrc: source <(tenure completion bash)
_tenure() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path="" words="" i ids="" given=()
  COMPREPLY=()
  case "$prev" in
    ${files.join("|")}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
${[...choices].map(([flag, words]) => `    ${flag}) COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$cur")); return ;;`).join("\n")}
    ${valued.join("|")}) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.join("|")}) ((i++)); continue ;;
      -*) continue ;;
    esac
    case "$path/\${COMP_WORDS[i]}" in
      ${paths.join("|")}) path="$path/\${COMP_WORDS[i]}" ;;
      *) given+=("\${COMP_WORDS[i]}") ;;
    esac
  done
  case "$path" in
${idCommands(all)
  .map(([path, kinds]) => `    "${path}") ids="${kinds}" ;;`)
  .join("\n")}
  esac
  if [[ $cur != -* && -n $ids ]]; then
    ids=($ids)
    if ((\${#given[@]} < \${#ids[@]})); then
      COMPREPLY=($(compgen -W "$(tenure complete "\${ids[\${#given[@]}]}" "$cur" \${given[0]:-} 2>/dev/null)" -- "$cur"))
      return
    fi
  fi
  case "$path" in
${all.map((each) => `    "${pathText(each)}") words="${wordsOf(each).join(" ")}" ;;`).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _tenure tenure
`;
}

function wordsOf({ commands, choices, options }: CommandWords): string[] {
  return [...commands.map(({ name }) => name), ...choices, ...options.map(({ flag }) => flag)];
}
