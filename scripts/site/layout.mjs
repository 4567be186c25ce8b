/** A page of the site: the header with the search, the navigation, the text, and the headings on the page. */
import { posix } from "node:path";
import { escape } from "./markdown.mjs";

export function layOut(page, sections) {
  const to = (path) => escape(posix.relative(posix.dirname(page.path), path));
  const links = sections.map(
    ({ title, pages }) => `<h2>${title}</h2><ul>${pages.map((each) => entry(each, page, to)).join("")}</ul>`,
  );
  const headings = page.headings.filter(({ depth }) => depth === 2 || depth === 3);
  const contents = headings.map(
    ({ id, depth, text }) => `<li class="depth-${depth}"><a href="#${id}">${escape(text)}</a></li>`,
  );
  const title = page.path === "index.html" ? "Tenure: leader election" : `${page.title} · Tenure`;
  return `<!doctype html>
<html lang="en" data-root="${to("assets").replace(/assets$/, "")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<link rel="icon" type="image/svg+xml" href="${to("assets/icon.svg")}">
<link rel="stylesheet" href="${to("assets/tokens.css")}">
<link rel="stylesheet" href="${to("assets/site.css")}">
<script src="${to("assets/site.js")}" defer></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<button type="button" id="menu" aria-expanded="false" aria-controls="navigation" hidden>Menu</button>
<a class="name" href="${to("index.html")}">Tenure</a>
<div class="search" role="search" hidden>
<input type="search" id="search" placeholder="Search (press /)" aria-label="Search the documentation" aria-controls="results" autocomplete="off" spellcheck="false">
<div id="found" role="status"></div>
<ol id="results" hidden></ol>
</div>
<button type="button" id="theme" hidden>Dark</button>
</header>
<div class="columns">
<nav id="navigation" aria-label="Pages">${links.join("\n")}</nav>
<main id="text" tabindex="-1">
${page.html}</main>
<nav class="contents" aria-label="On this page">${contents.length < 2 ? "" : `<h2>On this page</h2><ul>${contents.join("")}</ul>`}</nav>
</div>
</body>
</html>
`;
}

function entry({ title, path }, page, to) {
  const current = path === page.path ? ' aria-current="page"' : "";
  return `<li><a href="${to(path)}"${current}>${escape(title)}</a></li>`;
}
