/**
 * The programs that the documentation shows. Each block of JavaScript or TypeScript is preceded by a comment that is not
 * displayed: `<!-- program: NAME -->` for one that is compiled and run by a test, or `<!-- not run: REASON -->`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES, ROOT } from "./tarballs.test-kit.js";

export interface Snippet {
  /** The page and line where the block begins, such as `docs/CLIENT.md:12`. */
  readonly place: string;
  readonly language: "js" | "ts";
  readonly code: string;
  readonly mark: { readonly kind: "program" | "not run"; readonly text: string } | null;
}

const PAGES: readonly string[] = [
  "README.md",
  "examples/README.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
  ...PACKAGES.map((name) => `packages/${name}/README.md`),
];

const BLOCK =
  /(?:^<!-- (program|not run): (.+) -->\n+)?^```(js|ts|javascript|typescript)\b.*\n([\s\S]*?)^```$/gm;

export function snippetsIn(page: string, text: string): readonly Snippet[] {
  return [...text.matchAll(BLOCK)].map(({ index, 1: kind, 2: about, 3: language = "", 4: code = "" }) => ({
    place: `${page}:${text.slice(0, index).split("\n").length}`,
    language: language.startsWith("t") ? "ts" : "js",
    code,
    mark: kind === undefined ? null : { kind: kind as "program" | "not run", text: about ?? "" },
  }));
}

export const SNIPPETS: readonly Snippet[] = PAGES.flatMap((page) =>
  snippetsIn(page, readFileSync(join(ROOT, page), "utf8")),
);

export const PROGRAMS: ReadonlyMap<string, Snippet> = new Map(
  SNIPPETS.flatMap((snippet) => (snippet.mark?.kind === "program" ? [[snippet.mark.text, snippet]] : [])),
);
