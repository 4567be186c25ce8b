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
const modules = join(packages, "..", "node_modules");

describe("the installed client package", () => {
  let project = "";
  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), "tenure-package-"));
    // With an empty cache, as on a fresh machine.
    const npm = (...args: string[]) => run("npm", [...args, "--cache", "cache"], { cwd: project });
    const own = ["core", "api", "client"].map((name) => join(packages, name));
    const others = ["typebox", "eventsource-parser"].map((name) => join(modules, name));
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

  test("every entry of the package can be imported", async () => {
    const { exports } = JSON.parse(
      readFileSync(join(project, "node_modules", NAME, "package.json"), "utf8"),
    ) as { exports: object };
    const entries = Object.keys(exports).map((subpath) => subpath.replace(/^\./, NAME));
    const printed = await program(`
      for (const entry of ${JSON.stringify(entries)}) {
        console.log(entry, Object.keys(await import(entry)).length > 0);
      }
    `);
    expect(printed.trim().split("\n")).toEqual(entries.map((entry) => `${entry} true`));
    expect(entries.length).toBeGreaterThan(5);
  });

  // Without a public name, TypeScript refuses to write the declaration file of a program that exports such a value.
  test("the type of what a program makes with the package has a public name", async () => {
    writeFileSync(
      join(project, "values.ts"),
      `
      import { Election, lead, openElector } from "${NAME}";
      import { expressToLeader, fastifyToLeader, nodeToLeader, Observer } from "${NAME}/observer";
      import { prometheusMetrics, prometheusRoleMetrics } from "${NAME}/prometheus";
      import { RoleManager } from "${NAME}/roles";
      import { workerRenewer } from "${NAME}/worker";

      const group = { groupId: "g" };
      export const elector = await openElector("memory:");
      export const metrics = prometheusMetrics({ client: {} as never });
      export const roleMetrics = prometheusRoleMetrics({ client: {} as never });
      export const renewer = workerRenewer({ elector: { endpoints: ["http://a"] }, stallLimitMs: 10_000 });
      export const election = new Election(elector, { ...group, metrics, renewer });
      export const [status, changes] = [election.status(), election.changes()];
      export const leading = await lead(elector, group, async (each) => each);
      export const observer = new Observer(elector, group);
      export const observed = [observer.leader(), observer.status(), await observer.history()] as const;
      export const toLeader = [nodeToLeader({ observer }), expressToLeader({ observer })] as const;
      export const hook = fastifyToLeader({ observer });
      export const roles = new RoleManager(elector, { metrics, roleMetrics, renewer });
      export const roleStatus = [roles.status(), roles.mandate("r"), roles.changes()] as const;
      `,
    );
    const compilerOptions = {
      ...{ strict: true, target: "es2022", lib: ["es2023", "esnext.disposable"], module: "nodenext" },
      ...{ declaration: true, outDir: "out", types: ["node"], typeRoots: [join(modules, "@types")] },
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["values.ts"] }),
    );
    const compiler = join(modules, "typescript/bin/tsc");
    const errors = await run(process.execPath, [compiler, "--pretty", "false"], { cwd: project }).then(
      () => "",
      (error: unknown) => (error as { stdout: string }).stdout,
    );
    expect(errors).toBe("");
    // Each name comes from an entry of the package, none from a package that the program did not install itself.
    const declared = readFileSync(join(project, "out/values.d.ts"), "utf8");
    const sources = new Set(
      [...declared.matchAll(/(?:from |import\()"([^"]+)"/g)].map(([, from = ""]) => from),
    );
    const entries = ["", "/observer", "/roles", "/worker"].map((subpath) => NAME + subpath);
    expect([...sources].toSorted()).toEqual([...entries, "http"]);
  });
});
