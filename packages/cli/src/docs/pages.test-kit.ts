/**
 * The pages of the documentation, and the programs that they show. Each block of JavaScript or TypeScript is preceded by a comment
 * that is not displayed: `<!-- program: NAME -->` for one that is compiled and run by a test, `<!-- file: NAME -->` for one that
 * the reader of a walkthrough saves and runs, or `<!-- not run: REASON -->`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { blocksIn } from "./blocks.test-kit.js";
import { PACKAGES, ROOT } from "./tarballs.test-kit.js";

export interface Snippet {
  /** The page and line where the block begins, such as `docs/CLIENT.md:12`. */
  readonly place: string;
  readonly language: "js" | "ts";
  readonly code: string;
  readonly mark: { readonly kind: "program" | "not run" | "file"; readonly text: string } | null;
}

export const PAGES: readonly string[] = [
  "README.md",
  "examples/README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file.replaceAll(sep, "/")}`),
  ...PACKAGES.map((name) => `packages/${name}/README.md`),
];

/** Pages that a reader follows from top to bottom. A test does the same. What docs/INSTALL.md says has its own tests. */
export const WALKTHROUGHS: readonly string[] = PAGES.filter((page) =>
  /^(README\.md|docs\/(TUTORIAL|guides\/.*)\.md)$/.test(page),
);

const LANGUAGES: ReadonlyMap<string, Snippet["language"]> = new Map([
  ["js", "js"],
  ["javascript", "js"],
  ["ts", "ts"],
  ["typescript", "ts"],
]);

export function snippetsIn(page: string, text: string): readonly Snippet[] {
  return blocksIn(page, text).flatMap(({ place, language: word, code, notes }) => {
    const language = LANGUAGES.get(word);
    if (language === undefined) return [];
    const kind = (["program", "not run", "file"] as const).find((key) => notes.has(key));
    return [
      { place, language, code, mark: kind === undefined ? null : { kind, text: notes.get(kind) ?? "" } },
    ];
  });
}

export const SNIPPETS: readonly Snippet[] = PAGES.flatMap((page) =>
  snippetsIn(page, readFileSync(join(ROOT, page), "utf8")),
);

export const PROGRAMS: ReadonlyMap<string, Snippet> = new Map(
  SNIPPETS.flatMap((snippet) => (snippet.mark?.kind === "program" ? [[snippet.mark.text, snippet]] : [])),
);
