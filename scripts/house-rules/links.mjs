/** Links to the repository, relative or by its address, lead somewhere: to a file or folder, and to a heading on that page. */
import { posix } from "node:path";
import { repositoryOf } from "./published.mjs";
import { lineAt, select } from "./tree.mjs";

const LINK = /\]\(<?([^()\s<>]+)>?(?:\s+"[^"]*")?\)/g;
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

export const linkRules = { "links-lead-somewhere": linksLeadSomewhere };

function linksLeadSomewhere(tree) {
  const folders = foldersOf(tree);
  const repository = `${repositoryOf(tree)}/`;
  return select(tree, (file) => file.endsWith(".md")).flatMap(({ file, text }) => {
    const prose = withoutCode(text);
    return [...prose.matchAll(LINK)]
      .map(({ 1: target, index }) => ({ target, index, own: ownPath(repository, target) }))
      .filter(({ target, own }) => own !== null || !ELSEWHERE.test(target))
      .flatMap(({ target, index, own }) => {
        const problem = problemOf(tree, folders, own === null ? file : "", own ?? target);
        return problem === null ? [] : [{ file, line: lineAt(prose, index), problem }];
      });
  });
}

/** The path of a file or folder that a link names by its address on the web; `null` for any other link. */
function ownPath(repository, target) {
  if (repository === "/" || !target.startsWith(repository)) return null;
  return /^(?:blob|tree)\/main\/(.+)$/.exec(target.slice(repository.length))?.[1] ?? null;
}

function problemOf(tree, folders, file, target) {
  const [path = "", heading = ""] = target.split("#");
  const page =
    path === "" ? file : posix.join(posix.dirname(file), decodeURIComponent(path)).replace(/\/$/, "");
  const text = tree.get(page);
  if (text === undefined && !folders.has(page)) return `${target} leads nowhere; fix or remove it`;
  if (heading === "" || headingsOf(text ?? "").has(heading)) return null;
  return `${target} names a heading that ${page} does not have; fix it`;
}

function foldersOf(tree) {
  const folders = new Set(["."]);
  for (const file of tree.keys()) {
    for (let folder = posix.dirname(file); folder !== "."; folder = posix.dirname(folder))
      folders.add(folder);
  }
  return folders;
}

function headingsOf(text) {
  const anchors = new Set();
  for (const [, title] of withoutFences(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) addAnchor(anchors, title);
  return anchors;
}

/** The anchor of a heading, as GitHub makes it: different from those that the page has already. */
export function addAnchor(anchors, title) {
  const anchor = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
  let unique = anchor;
  for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
  anchors.add(unique);
  return unique;
}

/** What is shown as code links to nothing. Each line stays in its place. */
function withoutCode(text) {
  return withoutFences(text).replace(/`[^`\n]*`/g, blank);
}

function withoutFences(text) {
  return text.replace(/^([ \t]*```).*\n[\s\S]*?^\1.*$/gm, blank);
}

function blank(code) {
  return code.replace(/[^\n]/g, " ");
}
