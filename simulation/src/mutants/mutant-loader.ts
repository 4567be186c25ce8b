/** Copies the built core and client, switches a rule off in the copy, and loads that. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CoreModule } from "../core-module.js";
import type { Mutant, Patch } from "../harness/mutant.js";

/**
 * `from` is the dist folder of the core to run: this one, or one built elsewhere, which then runs with the test kit of this
 * one. Without a mutant it is loaded as it is. The client in the copy runs over the core in the copy.
 */
export async function loadCopy(from: string | undefined, mutant: Mutant | undefined): Promise<CoreModule> {
  const root = await mkdtemp(join(tmpdir(), `tenure-${mutant?.name ?? "core"}-`));
  const copyOf = (name: CopiedName) => join(root, "node_modules", "@tenure", name);
  try {
    await writeFile(join(root, "package.json"), '{ "type": "module" }');
    await copyCode(from ?? distOf("core"), copyOf("core"));
    if (from !== undefined) await copyCode(join(distOf("core"), "testing"), join(copyOf("core"), "testing"));
    await copyCode(distOf("client"), copyOf("client"));
    await copyCode(distOf("api"), copyOf("api"));
    await copyCode(distOf("server/parts"), copyOf("server"), SERVER_PARTS);
    for (const patch of mutant?.patches ?? [])
      await apply(copyOf(patch.package ?? "core"), patch, mutant?.name ?? "");
    const load = (name: CopiedName, file: string): Promise<unknown> =>
      import(pathToFileURL(join(copyOf(name), file)).href);
    return {
      core: await load("core", "index.js"),
      testing: await load("core", "testing/index.js"),
      client: await load("client", "index.js"),
      clientParts: await load("client", "parts.js"),
      server: await load("server", "parts.js"),
    } as CoreModule;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

type PackageName = NonNullable<Patch["package"]>;
type CopiedName = PackageName | "api" | "server";

/** What words its answers; the rest of the server needs packages that a copy does not find. */
const SERVER_PARTS = /^(?:parts|service-error)\.js$/;

/** The folder that a patch of this package is relative to. */
export function distOf(name: PackageName | "api" | "server/parts"): string {
  return dirname(fileURLToPath(import.meta.resolve(`@tenure/${name}`)));
}

export function loadMutant(mutant: Mutant): Promise<CoreModule> {
  return loadCopy(undefined, mutant);
}

/** Without source maps: they would point to sources that are not there. */
async function copyCode(from: string, to: string, which = /\.js$/): Promise<void> {
  await mkdir(to, { recursive: true });
  await writeFile(
    join(to, "package.json"),
    '{ "type": "module", "exports": { ".": "./index.js", "./*": "./*.js" } }',
  );
  for (const file of await readdir(from, { recursive: true })) {
    if (!which.test(file) || /\.(?:test|test-kit)\.js$/.test(file)) continue;
    const code = await readFile(join(from, file), "utf8");
    await mkdir(dirname(join(to, file)), { recursive: true });
    await writeFile(join(to, file), code.replace(/\n\/\/# sourceMappingURL=.*$/, "\n"));
  }
}

async function apply(directory: string, patch: Patch, name: string): Promise<void> {
  const path = join(directory, patch.file);
  await writeFile(path, patched(await readFile(path, "utf8"), patch, name));
}

/** The code with the patch in it; throws if the patch does not fit exactly once. */
export function patched(code: string, { file, find, replace }: Patch, name: string): string {
  const count = code.split(find).length - 1;
  if (count !== 1) {
    throw new Error(
      `mutant ${name}: ${JSON.stringify(find)} occurs ${count} times in ${file}, it must occur once`,
    );
  }
  return code.replace(find, () => replace);
}
