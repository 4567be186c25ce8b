import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, Program, serve } from "./examples.test-kit.js";

/** Each example has a group of its own, so all share one service. */
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  env = { TENURE_SERVER: await serve() };
});
afterAll(cleanUp);

test.concurrent("control-manager: one node works, and hands over when it is terminated", async () => {
  const a = new Program("examples/dist/control-manager.js", ["a"], env);
  await a.said(/a leads in term 1$/);
  const b = new Program("examples/dist/control-manager.js", ["b"], env);
  await b.said(/b sees a lead$/);
  expect(await a.end("SIGTERM")).toBe(0);
  const since = a.lines.slice(a.lines.indexOf("a leads in term 1"));
  expect(since.map((line) => line.replace(/\d+ rounds/, "some rounds"))).toEqual([
    "a leads in term 1",
    "a worked some rounds",
    "a no longer leads: stopped",
    "a sees no node lead",
    "a has ended",
  ]);
  await b.said(/b leads in term 2$/);
  // The next node is not notified that this one is gone: its lease has to expire.
  const c = new Program("examples/dist/control-manager.js", ["c"], env);
  await c.said(/c sees b lead$/);
  await b.end("SIGKILL");
  await c.said(/c leads in term 3$/);
  expect(await c.end("SIGTERM")).toBe(0);
});

test.concurrent("roles: two processes share the roles, and dependent roles stay together", async () => {
  const ledBy = ({ lines }: Program) =>
    lines.reduce((led, line) => {
      const [, verb, role = ""] = /^\w+ (begins|has ended) (\S+?):? /.exec(`${line} `) ?? [];
      if (verb === "begins") led.add(role);
      if (verb === "has ended") led.delete(role);
      return led;
    }, new Set<string>());
  const leads = (node: Program, count: number) =>
    node.until(() => (ledBy(node).size === count ? ledBy(node) : null));
  const a = new Program("examples/dist/roles.js", ["a"], env);
  expect((await leads(a, 8)).size).toBe(8);
  const b = new Program("examples/dist/roles.js", ["b"], env);
  const roles = await leads(b, 4);
  for (const role of roles) expect(roles).toContain(role.replace(/^index/, "ingest"));
  expect([...(await leads(a, 4))].filter((role) => roles.has(role))).toEqual([]);
  await a.end("SIGKILL");
  await leads(b, 8);
  expect(await b.end("SIGTERM")).toBe(0);
  const ends = b.lines.filter((line) => line.endsWith(": stopped"));
  expect(ends).toHaveLength(8);
  for (const shard of [0, 1, 2, 3]) {
    const [index, ingest] = ["index", "ingest"].map((role) =>
      ends.indexOf(`b has ended ${role}/${shard}: stopped`),
    );
    expect(index).toBeLessThan(ingest as number);
  }
});

test.concurrent("any-node and leader-proxy: the leader serves a request to any node or to the proxy", async () => {
  const nodes = ["a", "b"].map((nodeId) => new Program("examples/dist/any-node.js", [nodeId], env));
  const proxy = new Program("examples/dist/leader-proxy.js", [], env);
  const proxyUrl = await proxy.said(/listens on (\S+)/);
  const urls = await Promise.all(nodes.map((node) => node.said(/listens on (\S+)/)));
  // A node may not know yet who leads; then it answers 503 and nothing was done.
  const ask = async (url: string): Promise<string> => {
    const response = await fetch(`${url}/jobs`);
    return response.status === 503 ? ask(url) : (await response.text()).trim();
  };
  const leads = nodes.findIndex(({ lines }) => lines.some((line) => line.endsWith("leads in term 1")));
  const [leader, follower] = leads === 0 ? ["a", "b"] : ["b", "a"];
  const all = [...urls, proxyUrl];
  expect(await Promise.all(all.map(ask))).toEqual(all.map(() => `served by ${leader} in term 1`));
  expect(await nodes[leads]?.end("SIGTERM")).toBe(0);
  await nodes[1 - leads]?.said(/leads in term 2$/);
  const rest = [urls[1 - leads] ?? "", proxyUrl];
  expect(await Promise.all(rest.map(ask))).toEqual(rest.map(() => `served by ${follower} in term 2`));
  expect(await nodes[1 - leads]?.end("SIGTERM")).toBe(0);
  const none = await fetch(`${proxyUrl}/jobs`);
  expect([none.status, none.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await (await fetch(`${proxyUrl}/healthz`)).text()).toBe("ok\n");
  expect(await proxy.end("SIGTERM")).toBe(0);
});

test.concurrent("coordinator: one node gives polls to healthy members, and the next coordinator continues", async () => {
  const a = new Program("examples/dist/coordinator.js", ["a"], env);
  await a.said(/a coordinates in term 1$/);
  const b = new Program("examples/dist/coordinator.js", ["b"], env);
  await b.said(/b sees a coordinate$/);
  await a.said(/a gives disks to [ab] in term 1$/);
  expect(await a.end("SIGTERM")).toBe(0);
  expect(a.lines.slice(-2)).toEqual(["a no longer coordinates: stopped", "a has ended"]);
  await b.said(/b coordinates in term 2$/);
  await b.said(/b gives disks to [ab] in term 2$/);
  expect(await b.end("SIGTERM")).toBe(0);
});

test.concurrent("nestjs: a provider works on one copy, and has ended before the next copy begins", async () => {
  const a = new Program("examples/dist/nestjs.js", ["a"], env);
  await a.said(/a begins its work in term 1$/);
  const b = new Program("examples/dist/nestjs.js", ["b"], env);
  await b.said(/b has started$/);
  expect(b.lines).toEqual(["b has started"]);
  expect(await a.end("SIGTERM")).toBe(0);
  expect(a.lines.at(-1)).toBe("a has ended its work");
  await b.said(/b begins its work in term 2$/);
  expect(await b.end("SIGTERM")).toBe(0);
});

test.concurrent("fastify: every copy serves, one works, and the work of a killed copy continues elsewhere", async () => {
  const a = new Program("examples/dist/fastify.js", ["a"], env);
  await a.said(/a begins its work in term 1$/);
  const b = new Program("examples/dist/fastify.js", ["b"], env);
  const url = await b.said(/listens on (\S+)/);
  const seen = async () => (await fetch(url)).json();
  expect(await seen()).toMatchObject({ nodeId: "b", isLeader: false, rounds: 0 });
  await a.end("SIGKILL");
  await b.said(/b begins its work in term 2$/);
  expect(await seen()).toMatchObject({ nodeId: "b", isLeader: true, leader: "b" });
  expect(await b.end("SIGTERM")).toBe(0);
  expect(b.lines.slice(-2)).toEqual(["b has ended its work", "b has stopped"]);
});
