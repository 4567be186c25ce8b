/**
 * Newer releases of some engines, beside those of the system: packages of Debian's next release, unpacked into a
 * directory of our own and never installed. They come from the mirror that the system uses, checked by its keys.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SUITE = "testing";
const CACHE = fileURLToPath(new URL("../../../node_modules/.cache/tenure-engines/", import.meta.url));
const UNPACKED = join(CACHE, "unpacked");

/** The path of a program in an unpacked package; `null` if the package was never fetched. */
export function findNewer(command: string): string | null {
  const files = ["usr/bin", "usr/sbin"].map((directory) => join(UNPACKED, directory, command));
  return files.find((file) => existsSync(file)) ?? null;
}

/** Does not throw: the caller checks what is still missing, and the output of apt says why. */
export function fetchNewer(packages: readonly string[]): void {
  const mirror = mirrorOfSystem();
  if (mirror === null) return;
  for (const directory of ["lists/partial", "archives/partial", "unpacked"])
    mkdirSync(join(CACHE, directory), { recursive: true });
  const sources = join(CACHE, "sources.list");
  writeFileSync(sources, `deb ${mirror} ${SUITE} main\n`);
  const settings = [
    ["Dir::Etc::SourceList", sources],
    ["Dir::Etc::SourceParts", "-"],
    ["Dir::State::Lists", join(CACHE, "lists")],
    ["Dir::Cache", CACHE],
  ].flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  run("apt-get", ["--quiet", ...settings, "update"]);
  run("apt-get", ["--quiet", ...settings, "download", ...packages]);
  unpack();
}

/** Unpacks packages of the system's own release, without installing them, because their installation would start a service. */
export function fetchFiles(packages: readonly string[]): void {
  mkdirSync(UNPACKED, { recursive: true });
  run("apt-get", ["--quiet", "download", ...packages]);
  unpack();
}

function unpack(): void {
  for (const file of readdirSync(CACHE).filter((name) => name.endsWith(".deb")))
    run("dpkg-deb", ["--extract", file, UNPACKED]);
}

function mirrorOfSystem(): string | null {
  const format = "$(REPO_URI) $(COMPONENT) $(LABEL)";
  const { stdout } = spawnSync("apt-get", ["indextargets", "--format", format, "Created-By: Packages"], {
    encoding: "utf8",
  });
  const line = stdout?.split("\n").find((each) => each.endsWith(" main Debian"));
  return line?.split(" ")[0] ?? null;
}

function run(command: string, args: readonly string[]): void {
  spawnSync(command, args, { cwd: CACHE, stdio: ["ignore", "ignore", "inherit"] });
}
