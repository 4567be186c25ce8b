/** The search index of the site: one entry per section of a page. The browser loads it when the reader begins to search. */
import MiniSearch from "minisearch";
import { textOf } from "./markdown.mjs";

const EXCERPT = 160;
/** The page reads the same: see site.js. */
const OPTIONS = { fields: ["title", "heading", "text"], storeFields: ["title", "heading", "url", "excerpt"] };

export function searchIndex(pages) {
  const index = new MiniSearch(OPTIONS);
  index.addAll(pages.flatMap(sectionsOf).map((section, id) => ({ id, ...section })));
  return `window.tenureSearch = ${JSON.stringify(JSON.stringify(index))};\n`;
}

function sectionsOf({ path, title, html }) {
  return html.split(/(?=<h[1-3] id=")/).flatMap((part) => {
    const [whole, id, heading] =
      /^<h[1-3] id="([^"]*)">(.*?)(?: <a class="anchor".*)?<\/h\d>/.exec(part) ?? [];
    if (whole === undefined) return [];
    const text = textOf(part.slice(whole.length)).replace(/\s+/g, " ").trim();
    const excerpt = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
    return [{ title, heading: textOf(heading), url: `${path}#${id}`, text, excerpt }];
  });
}
