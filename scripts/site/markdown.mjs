/** A page of Markdown as HTML, with its headings, and links that lead to other pages of the site. */
import { posix } from "node:path";
import { Marked } from "marked";
import { addAnchor } from "../house-rules/links.mjs";

const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i;

/**
 * `htmlOf` maps a file of the repository to a page of the site, or to `null`. `repository` is the address of the repository, by
 * which pages that are published on their own name other pages.
 */
export function renderPage(file, text, { htmlOf, repository }) {
  const path = htmlOf(file);
  const anchors = new Set();
  const headings = [];
  const onSite = (href) => {
    const own =
      repository !== "" && href.startsWith(`${repository}/`)
        ? /\/(?:blob|tree)\/main\/(.*)$/.exec(href)?.[1]
        : undefined;
    if (own === undefined && ELSEWHERE.test(href)) return href;
    const [target = "", anchor] = (own ?? href).split("#");
    const folder = own === undefined ? posix.dirname(file) : "";
    const named = posix.join(folder, decodeURIComponent(target)).replace(/\/$/, "");
    const to = posix.relative(posix.dirname(path), htmlOf(named) ?? named);
    return anchor === undefined ? to : `${to}#${anchor}`;
  };
  const renderer = {
    heading({ tokens, depth, text: source }) {
      const html = this.parser.parseInline(tokens);
      const id = addAnchor(anchors, source);
      headings.push({ id, depth, html, text: textOf(html) });
      const link =
        depth === 1 ? "" : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
      return `<h${depth} id="${id}">${html}${link}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      return `<a href="${escape(onSite(href))}">${this.parser.parseInline(tokens)}</a>`;
    },
    code({ text: code, lang = "" }) {
      return `<div class="code"><pre tabindex="0"><code class="language-${escape(lang)}">${escape(code)}\n</code></pre></div>\n`;
    },
    html({ text: raw }) {
      return raw.replace(/<!--[\s\S]*?-->/g, "");
    },
  };
  const html = new Marked({ gfm: true, renderer })
    .parse(text)
    .replaceAll("<table>", '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll("</table>", "</table></div>");
  return { file, path, html, headings, title: headings[0]?.text ?? file };
}

export function escape(text) {
  return text.replace(/[&<>"]/g, (each) => `&#${each.codePointAt(0)};`);
}

/** The text of HTML that this module has made. */
export function textOf(html) {
  return html
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:#(\d+)|lt|gt|quot|amp|#39);/g, (entity, code) =>
      code === undefined
        ? { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&" }[entity]
        : String.fromCodePoint(code),
    );
}
