/** A change of a source file. */
export interface Patch {
  /** The package, then the path in its `src` folder: `core/rules/renew.ts`. */
  readonly file: string;
  /** Occurs exactly once in the file, or the mutant is refused: it must never be the original unnoticed. */
  readonly find: string;
  readonly replace: string;
}

/** The source with the patch in it. */
export function patched(source: string, { file, find, replace }: Patch, mutant: string): string {
  const found = inAnyLayout(find);
  const count = Array.from(source.matchAll(found)).length;
  if (count !== 1)
    throw new Error(
      `mutant ${mutant}: ${JSON.stringify(find)} occurs ${count} times in ${file}, it must occur once`,
    );
  return source.replace(found, () => replace);
}

/** Matches the text as any formatter may lay it out: with other white space, and with or without a comma before a closing bracket. */
function inAnyLayout(text: string): RegExp {
  const characters = Array.from(text.replaceAll(/\s|,(?=\s*[)\]}])/g, ""), (character) => {
    const escaped = character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
    return /[)\]}]/.test(character) ? `(?:,\\s*)?${escaped}` : escaped;
  });
  return new RegExp(characters.join("\\s*"), "g");
}
