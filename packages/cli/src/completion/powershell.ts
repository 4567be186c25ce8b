import { type CommandWords, idCommands, pathText, valueOptions } from "./words.js";

/** The same walk as in bash, for PowerShell 5 and later. */
export function powershellScript(all: readonly CommandWords[]): string {
  const { valued, files, choices } = valueOptions(all);
  const words = all.map((each) => `    ${quoted(pathText(each))} = @(${listOf(wordsOf(each))})`);
  const ids = idCommands(all).map(([path, kinds]) => `    ${quoted(path)} = @(${listOf(kinds.split(" "))})`);
  const chosen = [...choices].map(([flag, each]) => `    ${quoted(flag)} = @(${listOf(each)})`);
  return `# PowerShell completion for tenure; in $PROFILE: tenure completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName tenure -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $valued = @(${listOf(valued)})
  $files = @(${listOf(files)})
  $choices = @{
${chosen.join("\n")}
  }
  $words = @{
${words.join("\n")}
  }
  $ids = @{
${ids.join("\n")}
  }
  $typed = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $previous = if ($typed.Count -gt 0) { $typed[-1] } else { '' }
  $offered = @()
  if ($files -contains $previous) { return }
  elseif ($choices.ContainsKey($previous)) { $offered = $choices[$previous] }
  elseif ($valued -contains $previous) { return }
  else {
    $path = ''
    $given = @()
    for ($i = 1; $i -lt $typed.Count; $i++) {
      $word = $typed[$i]
      if ($valued -contains $word) { $i++; continue }
      if ($word.StartsWith('-')) { continue }
      if ($words.ContainsKey("$path/$word")) { $path = "$path/$word" } else { $given += $word }
    }
    $kinds = @($ids[$path])
    if ($ids.ContainsKey($path) -and -not $wordToComplete.StartsWith('-') -and $given.Count -lt $kinds.Count) {
      $offered = @(tenure complete $kinds[$given.Count] "$wordToComplete" @given 2>$null)
    } else { $offered = $words[$path] }
  }
  $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;
}

function wordsOf({ commands, choices, options }: CommandWords): string[] {
  return [...commands.map(({ name }) => name), ...choices, ...options.map(({ flag }) => flag)];
}

function listOf(words: readonly string[]): string {
  return words.map(quoted).join(", ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
