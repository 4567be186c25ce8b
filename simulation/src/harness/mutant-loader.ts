/** Copies packages as they are built, switches a rule off in the copy, and loads the copy. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformWithOxc } from "vite";
import type { Mutant } from "./mutant.js";
import { patched } from "./patch.js";

export interface Copies<Modules> {
  /** The packages to copy. In the copy they import each other, and all other packages as they are. */
  readonly packages: readonly string[];
  /** What to load, by its name in the result: `{ testing: "@tenure/core/testing" }`. */
  readonly modules: { readonly [Name in keyof Modules]: string };
}

/** The folder of the repository, as far from the sources as from the build. */
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Types are erased and nothing else is changed, as by `tsc`. */
const ERASED = {
  lang: "ts",
  target: "es2022",
  sourcemap: false,
  typescript: { onlyRemoveTypeImports: true },
} as const;

/**
 * `core` is the folder of another core, with its `src` and `dist`, that takes the place of this one; it runs with the test kit
 * of this one. Without a mutant the copy is as it was built.
 */
export async function loadCopy<Modules>(
  { packages, modules }: Copies<Modules>,
  mutant: Mutant | undefined,
  core?: string,
): Promise<Modules> {
  const root = mkdtempSync(join(tmpdir(), `tenure-${mutant?.name ?? "copy"}-`));
  try {
    // What is not in the copy is found one folder above it.
    symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
    const copy = join(root, "copy", "node_modules", "@tenure");
    for (const name of packages) {
      copyCode(folderOf(name, core), join(copy, name), "dist");
      copyFileSync(join(folderOf(name), "package.json"), join(copy, name, "package.json"));
    }
    if (core !== undefined) copyCode(folderOf("core"), join(copy, "core"), "dist/testing");
    for (const [file, code] of await patchedCode(mutant, core)) writeFileSync(builtIn(copy, file), code);
    const entry = join(root, "copy", "entry.mjs");
    const exported = Object.entries(modules).map(
      ([name, from]) => `export * as ${name} from "${String(from)}";`,
    );
    writeFileSync(entry, exported.join("\n"));
    return (await import(pathToFileURL(entry).href)) as Modules;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** By file: the code in which the rule of the mutant is switched off, without types. Throws if a patch does not fit. */
export async function patchedCode(
  mutant: Mutant | undefined,
  core?: string,
): Promise<ReadonlyMap<string, string>> {
  const sources = new Map<string, string>();
  for (const patch of mutant?.patches ?? []) {
    const source = sources.get(patch.file) ?? readFileSync(sourceOf(patch.file, core), "utf8");
    sources.set(patch.file, patched(source, patch, mutant?.name ?? ""));
  }
  for (const [file, source] of sources)
    sources.set(file, (await transformWithOxc(source, file, ERASED)).code);
  return sources;
}

function folderOf(name: string, core?: string): string {
  return name === "core" && core !== undefined ? core : join(ROOT, "packages", name);
}

function sourceOf(file: string, core?: string): string {
  const [name = "", ...path] = file.split("/");
  return join(folderOf(name, path[0] === "testing" ? undefined : core), "src", ...path);
}

function builtIn(copy: string, file: string): string {
  const [name = "", ...path] = file.replace(/\.ts$/, ".js").split("/");
  return join(copy, name, "dist", ...path);
}

/** Without tests and source maps. */
function copyCode(from: string, to: string, folder: string): void {
  mkdirSync(join(to, folder), { recursive: true });
  for (const entry of readdirSync(join(from, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) copyCode(from, to, path);
    else if (/(?<!\.test|\.test-kit)\.js$/.test(path)) copyFileSync(join(from, path), join(to, path));
  }
}
