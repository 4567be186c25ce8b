/** The packages of the workspace as published: packed by npm and unpacked, never linked. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

export const ROOT: string = fileURLToPath(new URL("../../../../", import.meta.url));

export const PACKAGES: readonly string[] = readdirSync(join(ROOT, "packages")).toSorted();

export interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: object;
}

/** Packs these packages and unpacks each to `node_modules/@tenure/NAME` of a project, as npm installs them. */
export async function unpackInto(project: string, names: readonly string[]): Promise<void> {
  const workspaces = names.flatMap((name) => ["--workspace", `packages/${name}`]);
  const args = ["pack", "--json", "--pack-destination", project, ...workspaces];
  const { stdout } = await run("npm", args, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
  const packed = JSON.parse(stdout) as readonly { readonly name: string; readonly filename: string }[];
  for (const { name, filename } of packed) {
    const target = join(project, "node_modules", name);
    mkdirSync(target, { recursive: true });
    await run("tar", ["-xzf", join(project, filename), "-C", target, "--strip-components=1"]);
  }
}

export function manifestOf(project: string, name: string): Manifest {
  const file = join(project, "node_modules/@tenure", name, "package.json");
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}
