/** Every link of the site leads somewhere: to a file of the site and, with an anchor, to an element of that page. */
import { posix } from "node:path";
import { escape } from "./markdown.mjs";

const LINK = /\s(?:href|src|srcset)="([^"]*)"/g;
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/** Adds the files of the repository that pages link to. Returns what leads nowhere, as sentences. */
export function completeLinks(files, tree, read) {
  const pages = [...files].filter(([path]) => path.endsWith(".html"));
  return pages.flatMap(([path, html]) =>
    [...html.matchAll(LINK)]
      .map(([, href]) => decode(href))
      .filter((href) => !ELSEWHERE.test(href))
      .flatMap((href) => problemOf(files, tree, read, path, href) ?? []),
  );
}

function problemOf(files, tree, read, path, href) {
  const [named = "", anchor = ""] = href.split("#");
  const target = named === "" ? path : posix.join(posix.dirname(path), decodeURIComponent(named));
  if (!files.has(target) && !add(files, tree, read, target)) return `${path}: ${href} leads nowhere`;
  if (anchor === "" || files.get(target).includes(` id="${escape(anchor)}"`)) return null;
  return `${path}: ${href} names a heading that ${target} does not have`;
}

function add(files, tree, read, target) {
  if (tree.has(target)) files.set(target, read(target));
  return tree.has(target);
}

function decode(attribute) {
  return attribute.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(code)).replaceAll("&amp;", "&");
}
