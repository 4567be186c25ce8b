/**
 * Plain words in texts that people read: messages, help, descriptions, titles of tests and Markdown pages. In code the rule reads
 * the literals that a parser finds (strings, templates and the text of JSX), so that a name in the code is never a finding.
 */
import { parseSync } from "vite";
import { isTest, lineAt, select } from "./tree.mjs";

/** What a text must not say, and what it says instead. */
export const WORDS = [
  [/\bwhoever\b/i, "name the role: the caller, the node, the owner"],
  [/\bwho asks\b/i, "the caller"],
  [/\bso long\b/i, "name the duration: for this time, `ttlMs`"],
  [/\bso many\b/i, "name the number or the limit"],
  [/\blest\b/i, "so that … not"],
  [/\bbe it\b/i, "whether … or"],
  [/\bof its own will\b/i, "voluntarily, or by resign()"],
  [/\b(?:is|was|are|were|be|been) told\b|\bif told\b|\bwhen told\b/i, "was asked to, was reported"],
  [/\bmend(?:s|ed|ing)?\b/i, "fix"],
  [/\banew\b/i, "again"],
  [/\bnobody\b/i, "no node, no caller, has no leader"],
  [/\bno one\b/i, "no node, no caller, has no leader"],
  [/\bleads? no more\b/i, "no longer leads"],
  [/\bsigns? of life\b/i, "heartbeat, last seen"],
  [/\belects again\b/i, "resumed"],
  [/, by comma\b/i, "comma-separated"],
  [/\bcannot be had\b/i, "cannot be opened, is not available"],
  [/\bask (?:again|another)\b/i, "retry, use another server"],
  [/\b(?:ran|run|runs) out\b/i, "expired, expires"],
  [/\bamong the waiting\b/i, "candidate selection"],
  [/\bnothing is wrong\b|\bto note\b|(?:\d|\bis|\ball) in order\b(?! (?:to|of))/i, "no problems, notes, ok"],
];

/** Literals in these are names of modules and types. */
const NO_TEXT = new Set(["ImportDeclaration", "TSLiteralType"]);
const TITLED = new Set(["it", "test", "describe"]);

export const wordRules = {
  "plain-messages": (tree) =>
    select(tree, (file) => hasTexts(file) && !/\.test(?:-kit)?\.(?:tsx?|mjs)$/.test(file)).flatMap(
      ({ file, text }) => textsOf(file, text).flatMap((found) => refused(file, text, found)),
    ),
  "plain-titles": (tree) =>
    select(tree, (file) => hasTexts(file) && isTest(file)).flatMap(({ file, text }) =>
      titlesOf(file, text).flatMap((found) => refused(file, text, found)),
    ),
  "plain-pages": (tree) =>
    select(tree, (file) => file.endsWith(".md")).flatMap(({ file, text }) =>
      findProse(text).flatMap((found) => refused(file, text, found)),
    ),
};

/** The fixtures of the rules say the words on purpose. */
function hasTexts(file) {
  return (
    /^(?:packages|simulation|benchmarks|examples|scripts)\/.*\.(?:tsx?|mjs)$/.test(file) &&
    !file.endsWith("fixtures.mjs")
  );
}

/** The lines without their code: that of programs, of commands and of names. */
function findProse(text) {
  const prose = text.replace(/^```[\s\S]*?^```$|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, "`"));
  return prose.split("\n").map((value, line) => ({ line: line + 1, value }));
}

function refused(file, text, { start, value, line = lineAt(text, start) }) {
  // Of several words in one text the first finding shows the place; the others appear once it is fixed.
  for (const [pattern, instead] of WORDS) {
    const match = pattern.exec(value);
    if (match === null) continue;
    const problem = `a text says "${match[0]}"; write: ${instead}`;
    return [{ file, line, problem }];
  }
  return [];
}

/** Literals with more than one word: a single word is a key, a code or a class of CSS. */
function textsOf(file, text) {
  const found = [];
  visit(parseSync(file, text).program, (node) => {
    if (NO_TEXT.has(node.type)) return false;
    const value = valueOf(node);
    if (value !== null && /\S\s+\S/.test(value)) found.push({ start: node.start, value });
    return true;
  });
  return found;
}

/** The title of `it("…")`, `test.each(rows)("…")` and the like. */
function titlesOf(file, text) {
  const found = [];
  visit(parseSync(file, text).program, (node) => {
    if (node.type === "CallExpression" && TITLED.has(rootOf(node.callee))) {
      const value = node.arguments[0] === undefined ? null : valueOf(node.arguments[0]);
      if (value !== null) found.push({ start: node.arguments[0].start, value });
    }
    return true;
  });
  return found;
}

function rootOf(callee) {
  if (callee.type === "Identifier") return callee.name;
  if (callee.type === "MemberExpression") return rootOf(callee.object);
  return callee.type === "CallExpression" ? rootOf(callee.callee) : "";
}

/** Of a template its own text, without what is put in. */
function valueOf(node) {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : null;
  if (node.type === "JSXText") return node.value;
  return node.type === "TemplateLiteral" ? node.quasis.map(({ value }) => value.cooked).join("…") : null;
}

function visit(node, take) {
  if (node === null || typeof node !== "object") return;
  if (Array.isArray(node)) {
    for (const each of node) visit(each, take);
  } else if (typeof node.type !== "string" || take(node)) {
    for (const value of Object.values(node)) visit(value, take);
  }
}
