/**
 * The house rules: what a compiler and a linter cannot see. Each rule is a pure function from the tree (a map of path
 * to text) to findings. They run as a test and as a step of `npm run check`.
 */
import { pathToFileURL } from "node:url";
import { dependencyRules } from "./house-rules/dependencies.mjs";
import { linkRules } from "./house-rules/links.mjs";
import { optionRules } from "./house-rules/options.mjs";
import { publishedRules } from "./house-rules/published.mjs";
import { repositoryRules } from "./house-rules/repository.mjs";
import { sourceRules } from "./house-rules/source.mjs";
import { readTree } from "./house-rules/tree.mjs";
import { wordRules } from "./house-rules/words.mjs";
import { main, root, ScriptError } from "./setup.mjs";

export const RULES = {
  ...dependencyRules,
  ...sourceRules,
  ...repositoryRules,
  ...publishedRules,
  ...linkRules,
  ...wordRules,
  ...optionRules,
};

/** Findings as `file:line  rule: what is wrong; what to do`, in order of file and line. */
export function checkTree(tree, rules = RULES) {
  return Object.entries(rules)
    .flatMap(([rule, check]) => check(tree).map((finding) => ({ rule, ...finding })))
    .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line)
    .map(({ rule, file, line, problem }) => `${file}:${line}  ${rule}: ${problem}`);
}

export function checkRepository() {
  return checkTree(readTree(root));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(() => {
    const findings = checkRepository();
    for (const finding of findings) console.error(finding);
    if (findings.length > 0) throw new ScriptError(`${findings.length} against the house rules.`);
  });
}
