/**
 * The static site, made of the Markdown of the repository. A page keeps its place: `docs/STORES.md` becomes `docs/STORES.html`, and
 * a README the index of its folder. What pages link to besides is copied.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix } from "node:path";
import { readTree } from "../house-rules/tree.mjs";
import { layOut } from "./layout.mjs";
import { completeLinks } from "./links.mjs";
import { renderPage } from "./markdown.mjs";
import { navigation } from "./navigation.mjs";
import { searchIndex } from "./search.mjs";

/** The site's own files. The script is a classic one in the browser, because browsers load no modules from the disk. */
const ASSETS = [
  ["assets/site.css", "scripts/site/assets/site.css"],
  ["assets/site.js", "scripts/site/assets/site.mjs"],
  ["assets/tokens.css", "packages/dashboard/src/style/tokens.css"],
  ["assets/icon.svg", "packages/dashboard/src/style/icon.svg"],
];

/** `files`: path to content. `problems`: links that lead nowhere, as sentences. */
export function buildSite(root) {
  const tree = readTree(root);
  const repository = repositoryOf(tree);
  const folders = new Set();
  const render = (file, text) =>
    renderPage(file, text, { repository, htmlOf: (target) => htmlOf(tree, target, folders) });
  const pages = [...tree].filter(([file]) => isPage(file)).map(([file, text]) => render(file, text));
  const sections = navigation(pages);
  const listings = [...folders].map((folder) => render(`${folder}/README.md`, listing(tree, folder)));
  const files = new Map([...pages, ...listings].map((page) => [page.path, layOut(page, sections)]));
  for (const [path, file] of ASSETS) files.set(path, readFileSync(join(root, file)));
  files.set("assets/minisearch.js", readFileSync(miniSearch()));
  files.set("assets/search-index.js", searchIndex(pages));
  const problems = completeLinks(files, tree, (file) => readFileSync(join(root, file)));
  return { files, problems, pages };
}

function isPage(file) {
  return /^(?:[A-Z]\w*\.md|docs\/.*\.md|(?:packages\/[^/]+|(?:examples|deploy)(?:\/.*)?)\/README\.md)$/.test(
    file,
  );
}

/** The path of a page's HTML; `null` if this is a file that is no page. A folder is its README, or a list of its files. */
function htmlOf(tree, file, folders) {
  const readme = `${file}/README.md`;
  if (tree.has(readme) && isPage(readme)) return `${file}/index.html`;
  if (!tree.has(file) && filesBelow(tree, file).length > 0) folders.add(file);
  if (folders.has(file)) return `${file}/index.html`;
  if (folders.has(posix.dirname(file)) && posix.basename(file) === "README.md")
    return `${posix.dirname(file)}/index.html`;
  if (!isPage(file)) return null;
  return file.replace(/(?:^|(?<=\/))README\.md$/, "index.html").replace(/\.md$/, ".html");
}

function listing(tree, folder) {
  const files = filesBelow(tree, folder).map((file) => file.slice(folder.length + 1));
  return `# ${folder}\n\n${files.map((file) => `- [\`${file}\`](${file})`).join("\n")}\n`;
}

function filesBelow(tree, folder) {
  return [...tree.keys()].filter((file) => file.startsWith(`${folder}/`));
}

/** The address of the repository on the web; empty if its manifest names none. */
function repositoryOf(tree) {
  const { url = "" } = JSON.parse(tree.get("package.json")).repository ?? {};
  return url.replace(/^git\+/, "").replace(/\.git$/, "");
}

/** As a classic script. */
function miniSearch() {
  return createRequire(import.meta.url)
    .resolve("minisearch")
    .replace(/dist\/.*$/, "dist/umd/index.js");
}
