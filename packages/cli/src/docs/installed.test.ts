/** The published packages, installed by npm into empty directories and used there, from JavaScript and from strict TypeScript. */
import { join } from "node:path";
import { type Engine, isMissing, startEtcd, startNats, startPostgres, startZookeeper } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InstalledProject } from "./installed-project.test-kit.js";
import { Registry } from "./registry.test-kit.js";
import { manifestIn, PACKAGES, ROOT } from "./tarballs.test-kit.js";

let registry: Registry;
beforeAll(async () => {
  registry = await Registry.open();
});
afterAll(() => registry.close());

const install = (name: string, ...packages: readonly string[]) =>
  InstalledProject.install(registry, name, packages);

describe("the installed client package", () => {
  let project: InstalledProject;
  beforeAll(async () => {
    project = await install("client", "@tenure/client", "@types/node");
  });

  test("the client package installs core, api, the schema library and the SSE parser, nothing native, no tests", () => {
    const types = new Set(["@types/node", "undici-types"]);
    expect(project.packages().filter((name) => !types.has(name))).toEqual([
      "@tenure/api",
      "@tenure/client",
      "@tenure/core",
      "eventsource-parser",
      "typebox",
    ]);
    expect(project.files().filter((file) => /\.node$|binding\.gyp$|\.test[.-]/.test(file))).toEqual([]);
  });

  test("the client package says what to install for a store, and not for an unknown scheme", async () => {
    const printed = await project.run(`
      import { openElector } from "@tenure/client";
      for (const url of ["etcd://127.0.0.1:2379", "foo://x"]) {
        await openElector(url).catch((error) => console.log(error.code, error.message));
      }
    `);
    const [store, unknown] = printed.split("\n");
    expect(store).toBe(
      "INVALID_REQUEST url is a store, which needs a package that is not installed: npm install @tenure/stores",
    );
    expect(unknown).toMatch(/^INVALID_REQUEST url must begin with one of http:.*, not "foo:"$/);
  });

  // Without a public name, TypeScript refuses to write the declaration file of a program that exports such a value.
  test("the type of what a program makes with the client package has a public name", async () => {
    const errors = await project.compileErrors(`
      import { Election, lead, openElector } from "@tenure/client";
      import { expressToLeader, fastifyToLeader, nodeToLeader, Observer } from "@tenure/client/observer";
      import { prometheusMetrics, prometheusRoleMetrics } from "@tenure/client/prometheus";
      import { RoleManager } from "@tenure/client/roles";
      import { workerRenewer } from "@tenure/client/worker";

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
    `);
    expect(errors).toBe("");
    // Each name comes from an entry of the package, none from a package that the program did not install itself.
    const declared = project.read("out/program.d.ts");
    const sources = [...declared.matchAll(/(?:from |import\()"([^"]+)"/g)].map(([, from = ""]) => from);
    const entries = ["", "/observer", "/roles", "/worker"].map((subpath) => `@tenure/client${subpath}`);
    expect([...new Set(sources)].toSorted()).toEqual([...entries, "http"]);
  });
});

test("peers, and stores with the library of PostgreSQL alone, install nothing native", async () => {
  const project = await install("peers", "@tenure/peers", "@tenure/stores", "pg");
  expect(project.packages()).toEqual(expect.arrayContaining(["@tenure/peers", "@tenure/stores", "pg"]));
  expect(project.files().filter((file) => /\.node$|binding\.gyp$/.test(file))).toEqual([]);
});

const STORES = ["embedded", "etcd", "nats", "postgres", "zookeeper"];

/** Valid as JavaScript and as strict TypeScript. */
const ELECTION = `
  import { lead, openElector } from "@tenure/client";
  const elector = await openElector(process.argv[2] ?? "");
  console.log(await lead(elector, { groupId: "g", nodeId: "a", ttlMs: 30_000 }, async ({ term }) => "term " + term));
  await elector.close();
`;

describe("an installed store package", () => {
  const elects = (
    name: string,
    isSkipped: boolean,
    library: readonly string[],
    open: () => Promise<Engine>,
  ) =>
    test.skipIf(isSkipped)(`a program with the installed store ${name} and its library elects`, async () => {
      await using engine = await open();
      const project = await install(name, "@tenure/client", "@tenure/stores", ...library);
      const use = `await import("@tenure/stores/${name}");`;
      expect(await project.run(`${use}${ELECTION}`, engine.url)).toBe("term 1");
    });

  elects("etcd", isMissing("etcd"), ["@grpc/grpc-js", "@grpc/proto-loader"], () => startEtcd());
  elects("nats", isMissing("nats"), ["@nats-io/transport-node"], () => startNats());
  elects("postgres", isMissing("postgres"), ["pg"], () => startPostgres());
  elects("embedded", false, ["lmdb"], async () => {
    const stop = async (): Promise<void> => {};
    return { url: "embedded:data", nodes: [], stop, [Symbol.asyncDispose]: stop };
  });

  test.skipIf(isMissing("zookeeper"))(
    "programs with any store compile with the library of NATS alone, and ZooKeeper needs none to elect",
    async () => {
      await using engine = await startZookeeper();
      const project = await install("zookeeper", "@tenure/client", "@tenure/stores", "@types/node");
      expect(await project.run(ELECTION, engine.url)).toBe("term 1");
      await project.npm("install", "@nats-io/transport-node");
      const uses = STORES.map((name) => `export * as ${name} from "@tenure/stores/${name}";`);
      expect(await project.compileErrors(`${ELECTION}${uses.join("\n")}`)).toBe("");
    },
  );
});

describe("the installed server package", () => {
  let project: InstalledProject;
  beforeAll(async () => {
    project = await install("server", "@tenure/server", "@tenure/client", "@types/node");
  });

  test("the server package serves an installed client, and compiles", async () => {
    const code = `
      import { lead, openElector } from "@tenure/client";
      import { TenureServer } from "@tenure/server";
      const server = await TenureServer.open({ listen: "127.0.0.1:0", store: "embedded:data", logLevel: "silent" });
      const elector = await openElector(server.url);
      console.log(await lead(elector, { groupId: "g", nodeId: "a" }, async ({ term }) => "term " + term));
      const page = await fetch(server.url);
      console.log(page.status, page.headers.get("content-type"));
      await elector.close();
      await server.close();
    `;
    expect((await project.run(code)).split("\n")).toEqual(["term 1", "200 text/html; charset=utf-8"]);
    expect(await project.compileErrors(code)).toBe("");
    expect(project.packages()).not.toContain("tenure");
  });

  test("the tarballs of all packages install together, npx runs the command, and every entry can be imported", async () => {
    const { tarballs } = registry;
    expect(tarballs).toHaveLength(PACKAGES.length);
    await project.npm("install", ...tarballs.map(({ file }) => file));
    const { version } = manifestIn(join(ROOT, "packages/cli"));
    const printed = await project.npm("exec", "--offline", "--", "tenure", "--version");
    expect(printed).toContain(`tenure ${version} `);
    const entries = tarballs.flatMap(({ name }) =>
      Object.keys(project.manifest(name).exports ?? {})
        .filter((entry) => !/\.\w+$/.test(entry))
        .map((entry) => entry.replace(/^\./, name)),
    );
    const imported = await project.run(`
      for (const entry of ${JSON.stringify(entries)}) {
        console.log(entry, Object.keys(await import(entry)).length > 0);
      }
    `);
    expect(imported.split("\n")).toEqual(entries.map((entry) => `${entry} true`));
    expect(entries.length).toBeGreaterThan(20);
  });
});
