/** What `npm install` brings along with a package of Tenure: no native modules, unless the user asks for a store that has one. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** The directory that npm has installed this package in, seen from another one. */
function directoryOf(name: string, from: string): string | null {
  const place = join(from, "node_modules", name);
  if (existsSync(join(place, "package.json"))) return place;
  return from === dirname(from) ? null : directoryOf(name, dirname(from));
}

/** The packages that `npm install` brings with these: their dependencies, but no optional peers. */
function installedWith(names: readonly string[], from = root, known = new Map<string, string>()) {
  for (const name of names) {
    const directory = directoryOf(name, from);
    if (directory === null || known.has(directory)) continue;
    known.set(directory, name);
    const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
    const wanted = [manifest.dependencies, manifest.optionalDependencies].flatMap((each) =>
      Object.keys(each ?? {}),
    );
    installedWith(wanted, directory, known);
  }
  return known;
}

function nativeModulesOf(...names: readonly string[]): readonly string[] {
  return [...installedWith(names)]
    .filter(([directory]) => existsSync(join(directory, "binding.gyp")) || hasBinary(directory))
    .map(([, name]) => name);
}

function hasBinary(directory: string): boolean {
  return readdirSync(directory, { recursive: true }).some(
    (file) => String(file).endsWith(".node") && !String(file).includes("node_modules"),
  );
}

test.each([
  ["peers", ["@tenure/peers"]],
  ["the client", ["@tenure/client"]],
  ["stores with PostgreSQL", ["@tenure/stores", "pg"]],
])("installing %s brings no native module", (_, names) => {
  expect(nativeModulesOf(...names)).toEqual([]);
});

test("the embedded store brings a native module, so it is installed only where it is asked for", () => {
  expect(nativeModulesOf("@tenure/stores", "lmdb")).toContain("lmdb");
});
