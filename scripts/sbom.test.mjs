import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeSboms } from "./sbom.mjs";
import { root } from "./setup.mjs";

let directory;
let texts;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tenure-sbom-test-"));
  texts = (await writeSboms(directory)).map((file) => readFileSync(file, "utf8"));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** From the lock file: the released packages and their production dependencies, `name@version`. */
function locked() {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const found = new Set();
  const visit = (path) => {
    const { link, resolved, version, ...entry } = packages[path];
    if (link === true) {
      visit(resolved);
      return;
    }
    const isOwn = path.startsWith("packages/") && !path.includes("node_modules/");
    const id = `${isOwn ? packages[path].name : path.split("node_modules/").at(-1)}@${version}`;
    if (found.has(id)) return;
    found.add(id);
    const needed = { ...entry.dependencies, ...entry.optionalDependencies, ...entry.peerDependencies };
    for (const name of Object.keys(needed)) {
      const parts = path.split("/");
      const places = parts.map(
        (_, index) => `${parts.slice(0, parts.length - index).join("/")}/node_modules/${name}`,
      );
      const at = [...places, `node_modules/${name}`].find((place) => packages[place] !== undefined);
      if (at !== undefined) visit(at);
    }
  };
  for (const each of readdirSync(join(root, "packages"))) visit(`packages/${each}`);
  return found;
}

describe("the bill of materials", () => {
  it("the bill of materials lists the production packages of the lock file, in CycloneDX", () => {
    const { bomFormat, metadata, components } = JSON.parse(texts[0]);
    expect([bomFormat, metadata.component.name]).toEqual(["CycloneDX", "tenure-workspace"]);
    // A nested package that is also needed for development; npm alone would leave it out.
    expect(components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["ms", "pg", "pg-types", "preact", "lmdb"]),
    );
    expect(new Set(components.map(({ name, version }) => `${name}@${version}`))).toEqual(locked());
  });

  it("the bill of materials lists the same packages in SPDX", () => {
    const { spdxVersion, packages, documentDescribes } = JSON.parse(texts[1]);
    expect(spdxVersion).toMatch(/^SPDX-2/);
    const rest = packages.filter(({ SPDXID }) => SPDXID !== documentDescribes[0]);
    expect(new Set(packages.map(({ SPDXID }) => SPDXID)).size).toBe(packages.length);
    expect(new Set(rest.map(({ name, versionInfo }) => `${name}@${versionInfo}`))).toEqual(locked());
  });

  it("the bill of materials has a licence for every component, and a digest for every foreign one", () => {
    for (const { name, licenses, hashes } of JSON.parse(texts[0]).components) {
      expect([name, licenses?.length]).toEqual([name, 1]);
      if (!/^(?:@tenure\/|tenure$)/.test(name)) expect([name, hashes?.length]).toEqual([name, 1]);
    }
  });

  it("the bill of materials names neither the machine it was made on nor a package host", () => {
    for (const text of texts) {
      expect(text).not.toContain(root);
      expect(text).not.toContain(tmpdir());
      expect(
        text.match(/https?:\/\/(?!cyclonedx\.org|spdx\.org|github\.com\/tenure\/tenure[/.])[^"]*/g) ?? [],
      ).toEqual([]);
      expect(text).not.toMatch(/vitest|playwright|typescript"/);
    }
  });
});
