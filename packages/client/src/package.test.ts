/** The published packages, installed from their tarballs into an empty project, without a network. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const run = promisify(execFile);
/** Spelled out, this name would look like an import of this test. */
const NAME = "@tenure/client";
const packages = fileURLToPath(new URL("../../", import.meta.url));

describe("the installed client package", () => {
  let project = "";
  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), "tenure-package-"));
    // With an empty cache, as on a fresh machine.
    const npm = (...args: string[]) => run("npm", [...args, "--cache", "cache"], { cwd: project });
    const own = ["core", "api", "client"].map((name) => join(packages, name));
    const others = ["typebox", "eventsource-parser"].map((name) =>
      join(packages, "..", "node_modules", name),
    );
    await npm("pack", "--silent", "--ignore-scripts", ...own, ...others);
    const tarballs = readdirSync(project).flatMap((file) => (file.endsWith(".tgz") ? [`./${file}`] : []));
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
    await npm("install", "--offline", "--no-audit", "--no-fund", ...tarballs);
  });
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  const program = async (text: string, ...args: string[]) => {
    writeFileSync(join(project, "program.js"), text);
    return (await run(process.execPath, ["program.js", ...args], { cwd: project })).stdout;
  };

  test("the package installs core, api, the schema library and the SSE parser, nothing else, nothing native, no tests", () => {
    const files = readdirSync(join(project, "node_modules"), { recursive: true }) as string[];
    expect(readdirSync(join(project, "node_modules", "@tenure")).toSorted()).toEqual([
      "api",
      "client",
      "core",
    ]);
    expect(readdirSync(join(project, "node_modules")).filter((name) => !name.startsWith("."))).toEqual([
      "@tenure",
      "eventsource-parser",
      "typebox",
    ]);
    expect(files.filter((file) => /\.node$|binding\.gyp$|\.test[.-]/.test(file))).toEqual([]);
    const manifest = JSON.parse(
      readFileSync(join(project, "node_modules/@tenure/client/package.json"), "utf8"),
    ) as { scripts?: object };
    expect(manifest.scripts).toBeUndefined();
  });

  test("the package says what to install for a store, and not for an unknown scheme", async () => {
    const told = await program(`
      import { openElector } from "${NAME}";
      for (const url of ["etcd://127.0.0.1:2379", "foo://x"]) {
        await openElector(url).catch((error) => console.log(error.code, error.message));
      }
    `);
    const [store, unknown] = told.split("\n");
    expect(store).toBe(
      "INVALID_REQUEST url is a store, which needs a package that is not installed: npm install @tenure/stores",
    );
    expect(unknown).toMatch(/^INVALID_REQUEST url must begin with one of http:.*, not "foo:"$/);
  });
});
