/** Copies the built parts of a node, switches a rule off in the copy, and loads that. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Mutant, Patch } from "../harness/mutant.js";
import type { PeerModule } from "./peer-module.js";

/** Files of a mutant are named from here, unless they are in another folder of the package. */
const FOLDER = "protocol";
/** What the parts of a node are made of; the rest of the wire needs packages that a copy does not find. */
const COPIED =
  /^(?:(?:decisions|disk|membership|protocol|registry)\/.*|wire\/(?:decision-codec|offices|wire-error)|(?!index)[\w-]+)\.js$/;

export async function loadPeerMutant(mutant: Mutant): Promise<PeerModule> {
  const built = dirname(fileURLToPath(import.meta.resolve("@tenure/peers/parts")));
  const copy = await mkdtemp(join(tmpdir(), `tenure-${mutant.name}-`));
  try {
    const code = await readCode(built);
    for (const patch of mutant.patches) apply(code, patch, mutant.name);
    await writeFile(join(copy, "package.json"), '{ "type": "module" }');
    for (const [file, text] of code) {
      await mkdir(dirname(join(copy, file)), { recursive: true });
      await writeFile(join(copy, file), text);
    }
    return (await import(pathToFileURL(join(copy, "parts.js")).href)) as PeerModule;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Without source maps, and with the original core: from a copy it would not be found by its name. */
async function readCode(from: string): Promise<Map<string, string>> {
  const core = import.meta.resolve("@tenure/core");
  const code = new Map<string, string>();
  for (const file of await readdir(from, { recursive: true })) {
    if (!COPIED.test(file) || /\.(?:test|test-kit)\.js$/.test(file)) continue;
    const text = await readFile(join(from, file), "utf8");
    code.set(
      file,
      text.replace(/\n\/\/# sourceMappingURL=.*$/, "\n").replaceAll('from "@tenure/core"', `from "${core}"`),
    );
  }
  return code;
}

function apply(code: Map<string, string>, { file: named, find, replace }: Patch, name: string): void {
  const file = named.includes("/") ? named : `${FOLDER}/${named}`;
  const text = code.get(file) ?? "";
  const count = text.split(find).length - 1;
  if (count !== 1) {
    throw new Error(
      `mutant ${name}: ${JSON.stringify(find)} occurs ${count} times in ${file}, it must occur once`,
    );
  }
  code.set(
    file,
    text.replace(find, () => replace),
  );
}
