/**
 * The code blocks of a page of the documentation, with the notes above them: comments that are not displayed, one per line,
 * such as `<!-- terminal: 2 -->`. CONTRIBUTING.md lists the notes.
 */

export interface Block {
  /** The page and line where the block begins, its notes included, such as `docs/CLIENT.md:12`. */
  readonly place: string;
  /** The first word after the fence; empty if there is none. For a note that has no block: `note`. */
  readonly language: string;
  readonly code: string;
  readonly notes: ReadonlyMap<string, string>;
}

const NOTE =
  /^\s*<!-- (program|not run|given|ports|terminal|stays|exit|retry|output|file|ctrl-c|picture|milestone)(?:: (.+))? -->$/;
/** These have no block. */
const ALONE = new Set(["ctrl-c", "picture"]);
const FENCE = /^(\s*)```(\w*)/;

/** Every block in its order. Notes that have no block become one without code. */
export function blocksIn(page: string, text: string): readonly Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let notes = new Map<string, string>();
  let first = 0;
  const place = (): string => `${page}:${first + 1}`;
  const settle = (language: string, code: string): void => {
    blocks.push({ place: place(), language, code, notes });
    notes = new Map();
  };
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    const [, key, value = ""] = NOTE.exec(line) ?? [];
    const [fence, indent = "", language = ""] = FENCE.exec(line) ?? [];
    if (key !== undefined) {
      if (notes.size === 0) first = at;
      notes.set(key, value);
      if (ALONE.has(key)) settle("note", "");
    } else if (fence !== undefined) {
      if (notes.size === 0) first = at;
      const end = lines.findIndex((each, index) => index > at && each.trim() === "```");
      if (end < 0) throw new Error(`${place()}: the code block has no end`);
      const code = lines.slice(at + 1, end).map((each) => `${each.slice(indent.length)}\n`);
      settle(language, code.join(""));
      at = end;
    } else if (line.trim() !== "" && notes.size > 0) {
      settle("note", "");
    }
  }
  if (notes.size > 0) settle("note", "");
  return blocks;
}
