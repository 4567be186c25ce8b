/** Every program in the documentation compiles and runs, from the packages as published, against a real service. */
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { once } from "node:events";
import { isMissing, startPostgres } from "@tenure/engines";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { PROGRAMS, SNIPPETS, snippetsIn } from "./pages.test-kit.js";
import type { Program } from "./program.test-kit.js";
import { Project } from "./project.test-kit.js";

const scratch = new Scratch();
let project: Project;
let TENURE_SERVER = "";

const run = (
  name: string,
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
) => project.start(name, { TENURE_SERVER, PORT: "0", ...environment }, args);

/** The arguments of each program, and what it must do. */
const CASES: Readonly<Record<string, () => Promise<void>>> = {
  readme: async () => {
    expect(PROGRAMS.get("readme")?.code.trim().split("\n").length).toBeLessThan(15);
    expect(await run("readme").ended()).toEqual(["leading, term 1, to work"]);
  },

  lead: async () => {
    expect(PROGRAMS.get("lead")?.code.trim().split("\n").length).toBeLessThan(20);
    expect(await run("lead", {}, ["memory:"]).ended()).toEqual(["leading, term 1", "done"]);
    expect((await run("lead", {}, [TENURE_SERVER]).ended()).at(-1)).toBe("done");
  },

  core: async () => {
    expect(await run("core").ended()).toEqual(["term 1, may act: true"]);
  },

  hooks: async () => {
    let isHealthy = true;
    const health = createServer((_request, response) => response.writeHead(isHealthy ? 200 : 503).end());
    const HEALTH_URL = await listening(health);
    const a = run("hooks", { NODE_ID: "a", HEALTH_URL });
    const [, port = ""] = await a.prints(/metrics .*port: (\d+)/s);
    await a.prints(/begins its work in term \d+/);
    await a.prints(/stands for election/);
    const series = await (await fetch(`http://127.0.0.1:${port}`)).text();
    expect(series).toContain('election_is_leader{group="billing",node="a"} 1');
    const b = run("hooks", { NODE_ID: "b", HEALTH_URL: `${TENURE_SERVER}/healthz` });
    await b.prints(/stands for election/);
    isHealthy = false;
    await b.prints(/begins its work/);
    await a.prints(/no longer leads: unhealthy/);
    expect(await b.stop()).toEqual(
      expect.arrayContaining(["has ended its work, in time", "no longer leads: stopped"]),
    );
    await a.stop();
    health.close();
  },

  observer: async () => {
    const observer = run("observer");
    const node = run("any-node", { NODE_ID: "a" });
    const [, address = ""] = await node.prints(/a listens on (\S+)/);
    await observer.prints(new RegExp(`a leads at ${address}`));
    await node.stop();
    expect((await observer.stop()).at(-1)).toMatch(/^LEADER_LOST \d+ null$/);
  },

  "any-node": async () => {
    const nodes: Program[] = [];
    const addresses: string[] = [];
    for (const NODE_ID of ["a", "b"]) {
      const node = run("any-node", { NODE_ID });
      addresses.push((await node.prints(/listens on (\S+)/))[1] ?? "");
      nodes.push(node);
    }
    // The second node may not know the first node's address yet.
    const ask = async (address: string): Promise<string> => {
      const response = await fetch(`http://${address}`);
      return response.status === 503 ? ask(address) : response.text();
    };
    expect(await Promise.all(addresses.map(ask))).toEqual(["served by a", "served by a"]);
    for (const node of nodes) await node.stop();
  },

  roles: async () => {
    const worker = run("roles");
    await worker.prints(/compaction\/report begins/);
    for (const shard of [0, 1, 2, 3]) await worker.prints(new RegExp(`shard/${shard} begins in term 1`));
    await worker.prints(/leads \d roles/);
    const lines = await worker.stop();
    expect(lines.filter((line) => line.endsWith("has ended: stopped"))).toHaveLength(6);
    const [report, compaction] = ["compaction/report", "compaction"].map((role) =>
      lines.indexOf(`${role} has ended: stopped`),
    ) as [number, number];
    expect(report).toBeLessThan(compaction);
  },

  "worker-heart": async () => {
    expect(await run("worker-heart").ended()).toEqual(["leading, term 1; a thread renews"]);
  },

  webhook: async () => {
    const WEBHOOK_SECRET = "a secret of a test";
    const receiver = run("webhook", { WEBHOOK_SECRET });
    const [, port = ""] = await receiver.prints(/listening on (\d+)/);
    const secret = join(scratch.directory(), "secret");
    writeFileSync(secret, WEBHOOK_SECRET);
    const address = `http://127.0.0.1:${port}/`;
    const options = ["--webhook", address, "--webhook-secret-file", secret, "--log-level", "error"];
    const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", "memory:", ...options]);
    await run("lead", {}, [server.url]).ended();
    await receiver.prints(/^leader\.changed leader\.changed:.*:1$/m);
    await receiver.prints(/^leader\.lost leader\.lost:.*:1$/m);
    const forged = await fetch(address, {
      method: "POST",
      body: "{}",
      headers: { "tenure-signature": "t=1" },
    });
    expect(forged.status).toBe(401);
    await receiver.kill();
    await server.end("SIGTERM");
  },

  operate: async () => {
    const leader = run("any-node", { NODE_ID: "worker-1" });
    await leader.prints(/listens/);
    expect((await run("operate").ended())[0]).toBe("worker-2 is not waiting");
    await ledBy("worker-1");
    const follower = run("any-node", { NODE_ID: "worker-2" });
    await follower.prints(/listens/);
    const both = await run("operate").ended();
    expect(both[0]).toMatch(/^worker-2 leads in term \d+$/);
    expect(both).toContain("LEADER_LOST null deposed");
    expect(both.slice(-2)).toEqual(["LEADER_LOST null transferred", "LEADER_CHANGED worker-2 transferred"]);
    await leader.stop();
    await follower.stop();
  },

  coordinator: async () => {
    project.write("out/scheduler.js", SCHEDULER);
    const node = run("coordinator");
    await node.prints(/coordinates in term \d+/);
    await node.prints(/scheduler runs in term \d+/);
    expect((await node.stop()).slice(-2)).toEqual(["scheduler stops", "coordinates no more: stopped"]);
  },

  children: async () => {
    project.write("out/scheduler.js", SCHEDULER);
    project.write(
      "out/indexer.js",
      `import { parentPort, workerData } from "node:worker_threads";
       console.log("indexer runs in term " + workerData.term);
       parentPort.on("message", () => process.exit(0));`,
    );
    const node = run("children");
    await node.prints(/indexer runs in term \d+/);
    await node.prints(/announces term \d+/);
    const lines = await node.stop();
    expect(lines[0]).toBe("pool opened");
    expect(lines.at(-1)).toBe("pool closed");
  },

  polls: async () => {
    const node = run("polls", { POLL_INTERVAL_MS: "100" });
    await node.prints(/node-1 polls disks in term \d+/);
    await node.stop();
  },

  "poll-gate": async () => {
    const member = run("poll-gate");
    const [, port = ""] = await member.prints(/takes polls .*port: (\d+)/s);
    const [, term = ""] = await member.prints(/knows of term (\d+)/);
    const poll = async (asked: number) =>
      (await fetch(`http://127.0.0.1:${port}`, { headers: { "tenure-term": String(asked) } })).status;
    expect(await poll(Number(term))).toBe(200);
    expect(await poll(Number(term) - 1)).toBe(409);
    await member.stop();
  },

  "http-guard": async () => {
    const [guard, url] = await guarded();
    const send = async (headers: Record<string, string>) => (await fetch(url, { headers })).status;
    const early = await lead("first");
    const late = await lead("second");
    expect(await send(early)).toBe(200);
    expect(await send(late)).toBe(200);
    expect(await send(early), "a replaced leader").toBe(409);
    expect(await send({ "tenure-group": "billing", "tenure-term": "1000" }), "a stranger").toBe(401);
    await guard.stop();
  },

  "fenced-fetch": async () => {
    const [guard, RESOURCE] = await guarded();
    expect(await run("fenced-fetch", { RESOURCE }).ended()).toEqual([
      expect.stringMatching(/^done in term \d+$/),
    ]);
    await guard.stop();
  },

  ledger: async () => {
    await withPostgres(async (DATABASE_URL) => {
      expect(await run("ledger", { DATABASE_URL }).ended()).toEqual([
        "booked 10 in term 1",
        "booked 20 in term 2",
        "term 1 is over: term 2 leads",
      ]);
    });
  },

  "own-pool": async () => {
    await withPostgres(async (DATABASE_URL) => {
      expect(await run("own-pool", { DATABASE_URL }).ended()).toEqual([
        "leading, term 1",
        "the pool is open",
      ]);
    });
  },

  migrate: async () => {
    await withPostgres(async (DATABASE_URL) => {
      const previous = new Client(DATABASE_URL);
      await previous.connect();
      await previous.query("SELECT pg_advisory_lock(4711)");
      const next = run("migrate", { DATABASE_URL });
      await next.prints(/the previous version works/);
      await previous.end();
      expect((await next.ended()).at(-1)).toMatch(/^works in term \d+: yes$/);
    });
  },

  "fenced-sql": async () => {
    await withPostgres(async (DATABASE_URL) => {
      const connection = new Client(DATABASE_URL);
      await connection.connect();
      await connection.query("CREATE TABLE month (is_closed boolean)");
      await connection.query("INSERT INTO month VALUES (false)");
      expect(await run("fenced-sql", { DATABASE_URL }).ended()).toEqual(["closed the month in term 1"]);
      expect((await connection.query("SELECT is_closed FROM month")).rows).toEqual([{ is_closed: true }]);
      await connection.end();
    });
  },
};

const SCHEDULER = `
  import { createServer } from "node:http";
  const server = createServer().listen(0, "127.0.0.1");
  process.once("SIGTERM", () => { console.log("scheduler stops"); server.close(); });
  console.log("scheduler runs in term " + process.env.TENURE_TERM);
`;

const NEED_POSTGRES = new Set(["ledger", "fenced-sql", "migrate", "own-pool"]);

describe("programs in the documentation", () => {
  test("the documentation marks every code block as a program that is run, or says why it is not", () => {
    const unmarked = SNIPPETS.filter(({ mark }) => mark === null);
    expect(unmarked.map(({ place }) => place)).toEqual([]);
  });

  test("the documentation names each program once, and each one has a test", () => {
    const names = SNIPPETS.flatMap(({ mark }) => (mark?.kind === "program" ? [mark.text] : []));
    expect(names.toSorted()).toEqual(Object.keys(CASES).toSorted());
  });

  test("the documentation is parsed with the marks and positions of its code blocks", () => {
    const page = "Text\n\n<!-- program: a -->\n\n```js\na();\n```\n\n```ts\nb();\n```\n\n```sh\nls\n```\n";
    expect(snippetsIn("page.md", page)).toEqual([
      { place: "page.md:3", language: "js", code: "a();\n", mark: { kind: "program", text: "a" } },
      { place: "page.md:9", language: "ts", code: "b();\n", mark: null },
    ]);
  });
});

describe("the programs of the documentation, in a project with the packages from their tarballs", () => {
  beforeAll(async () => {
    const key = join(scratch.directory(), "signing.pem");
    writeFileSync(key, generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
    const args = [
      "--listen",
      "127.0.0.1:0",
      "--store",
      "memory:",
      "--signing-key",
      key,
      "--log-level",
      "warn",
    ];
    const [server, opened] = await Promise.all([scratch.serve(args), Project.open()]);
    TENURE_SERVER = server.url;
    project = opened;
    expect(await project.compile("nodenext")).toBe("");
  });
  afterEach(() => project.endPrograms());
  afterAll(async () => {
    project.close();
    await scratch.close();
  });

  test("the programs compile under strict TypeScript with moduleResolution bundler and nodenext", async () => {
    expect(await project.compile("bundler")).toBe("");
  });

  for (const [name, check] of Object.entries(CASES)) {
    test.skipIf(NEED_POSTGRES.has(name) && isMissing("postgres"))(`the program ${name} runs`, check);
  }
});

/** A resource behind a guard, and its URL. */
async function guarded(): Promise<[guard: Program, url: string]> {
  const guard = run("http-guard", { TERMS_DIRECTORY: scratch.directory() });
  const [, port = ""] = await guard.prints(/serves the leader .*port: (\d+)/s);
  return [guard, `http://127.0.0.1:${port}`];
}

/** Leads one term over plain HTTP, and resigns. Resolves with the headers that prove the term. */
async function lead(nodeId: string): Promise<Record<string, string>> {
  const post = async (verb: string, body: object) => {
    const url = `${TENURE_SERVER}/v1/groups/billing/${verb}`;
    const headers = { "content-type": "application/json" };
    const sent = { node_id: nodeId, ...body };
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify(sent) })).json() as Promise<Won>;
  };
  const { leader, token } = await post("campaign", { lease_ttl_ms: 5000 });
  await post("resign", { term: leader.term });
  return { "tenure-group": "billing", "tenure-term": String(leader.term), "tenure-mandate": token };
}

/** Polls until that node leads. */
async function ledBy(nodeId: string): Promise<void> {
  const response = await fetch(`${TENURE_SERVER}/v1/groups/billing/leader`);
  const { leader } = (await response.json()) as { leader: { node_id: string } | null };
  if (leader?.node_id !== nodeId) await ledBy(nodeId);
}

interface Won {
  readonly leader: { readonly term: number };
  readonly token: string;
}

async function withPostgres(work: (url: string) => Promise<void>): Promise<void> {
  const engine = await startPostgres();
  try {
    await work(engine.url);
  } finally {
    await engine.stop();
  }
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
