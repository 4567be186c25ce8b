/** Bundles packages as they are built, with a rule switched off in the bundle, and loads the bundle. */
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
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

const ENTRY = "tenure:entry";

/**
 * `core` is the folder of another core, with its `src` and `dist`, that takes the place of this one; it runs with the test kit
 * of this one. Without a mutant the copy is as it was built. The copy is one file: Node takes a quarter of the time to load it
 * that it takes for hundreds.
 */
export async function loadCopy<Modules>(
  { packages, modules }: Copies<Modules>,
  mutant: Mutant | undefined,
  core?: string,
): Promise<Modules> {
  const entry = Object.entries(modules).map(([name, from]) => `export * as ${name} from "${String(from)}";`);
  const code = new Map([[ENTRY, entry.join("\n")]]);
  for (const [file, patchedFile] of await patchedCode(mutant, core))
    code.set(builtOf(file, core), patchedFile);
  const isCopied = new RegExp(`^(?:${ENTRY}$|[./]|@tenure/(?:${packages.join("|")})(?:/|$))`);
  const bundle = await rolldown({
    input: ENTRY,
    cwd: ROOT,
    platform: "node",
    treeshake: false,
    external: (id) => !isCopied.test(id),
    plugins: [replaced(code), ...(core === undefined ? [] : [otherCore(core)])],
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  for (const id of code.keys())
    if (output[0].modules[id] === undefined) throw new Error(`no module of the copy comes from ${id}`);
  const directory = mkdtempSync(join(tmpdir(), `tenure-${mutant?.name ?? "copy"}-`));
  try {
    // What is not in the copy is found here.
    symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
    const file = join(directory, "copy.mjs");
    writeFileSync(file, output[0].code);
    return (await import(pathToFileURL(file).href)) as Modules;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The code of some modules, by id, in place of what is in their files. */
function replaced(code: ReadonlyMap<string, string>): Plugin {
  return {
    name: "replaced",
    resolveId: { filter: { id: new RegExp(`^${ENTRY}$`) }, handler: (id) => id },
    load: (id) => code.get(id),
  };
}

/** Every module of core but its test kit comes from this folder. */
function otherCore(folder: string): Plugin {
  const own = builtIn(folderOf("core"), "");
  const other = builtIn(folderOf("core", folder), "");
  const isTestKit = (path: string): boolean => path.startsWith(`testing${sep}`);
  return {
    name: "other-core",
    async resolveId(source, importer) {
      const id = (await this.resolve(source, importer, { skipSelf: true }))?.id;
      if (id?.startsWith(own) === true && !isTestKit(id.slice(own.length)))
        return other + id.slice(own.length);
      if (id?.startsWith(other) === true && isTestKit(id.slice(other.length)))
        return own + id.slice(other.length);
      return null;
    },
  };
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
  return join(folderWith(name, path, core), "src", ...path);
}

function builtOf(file: string, core?: string): string {
  const [name = "", ...path] = file.replace(/\.ts$/, ".js").split("/");
  return builtIn(folderWith(name, path, core), join(...path));
}

/** The test kit of core is always this one. */
function folderWith(name: string, path: readonly string[], core?: string): string {
  return folderOf(name, path[0] === "testing" ? undefined : core);
}

/** With the real path of the folder, as the bundler names its modules. */
function builtIn(folder: string, file: string): string {
  return join(realpathSync(folder), "dist", sep, file);
}
