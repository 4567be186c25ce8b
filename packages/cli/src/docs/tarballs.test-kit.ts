/** The packages of the workspace as published: packed by npm and unpacked, never linked. */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);

export const ROOT: string = fileURLToPath(new URL("../../../../", import.meta.url));

/** Folders below `packages/`. */
export const PACKAGES: readonly string[] = readdirSync(join(ROOT, "packages")).toSorted();

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: object;
}

export interface Tarball {
  readonly name: string;
  readonly file: string;
}

/** Resolves to what a command prints; rejects if it fails. */
export async function run(command: string, args: readonly string[], cwd: string = ROOT): Promise<string> {
  return (await execute(command, args, { cwd, maxBuffer: 16 * 1024 * 1024 })).stdout;
}

/** Packs the packages of these folders into a directory. */
export async function packInto(
  directory: string,
  folders: readonly string[] = PACKAGES,
): Promise<readonly Tarball[]> {
  const workspaces = folders.flatMap((folder) => ["--workspace", `packages/${folder}`]);
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", directory, ...workspaces];
  const packed = JSON.parse(await run("npm", args)) as readonly {
    readonly name: string;
    readonly filename: string;
  }[];
  // npm 12 writes an object by name, earlier ones an array.
  return Object.values(packed).map(({ name, filename }) => ({ name, file: join(directory, filename) }));
}

/** Packs the packages of these folders and unpacks each into `node_modules` of a project, as npm installs them. */
export async function unpackInto(project: string, folders: readonly string[]): Promise<void> {
  for (const { name, file } of await packInto(project, folders)) {
    const target = join(project, "node_modules", name);
    mkdirSync(target, { recursive: true });
    await run("tar", ["-xzf", file, "-C", target, "--strip-components=1"]);
  }
}

/** Where the package of a folder of the workspace is installed in a project. */
export function placeOf(project: string, folder: string): string {
  return join(project, "node_modules", manifestIn(join(ROOT, "packages", folder)).name);
}

export function manifestIn(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}
