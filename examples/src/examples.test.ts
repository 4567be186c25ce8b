import { afterEach, expect, test } from "vitest";
import { cleanUp, Program } from "./examples.test-kit.js";

afterEach(cleanUp);

async function service(): Promise<Record<string, string>> {
  const args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "silent"];
  const program = new Program("packages/cli/bin/tenure.js", args);
  return { TENURE_SERVER: await program.said(/listening on (\S+)/) };
}

test("control-manager: one node works, and hands over when it is terminated", async () => {
  const env = await service();
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
    "a sees nobody lead",
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

test("any-node: the leader serves a request to any node", async () => {
  const env = await service();
  const nodes = ["a", "b"].map((nodeId) => new Program("examples/dist/any-node.js", [nodeId], env));
  const urls = await Promise.all(nodes.map((node) => node.said(/listens on (\S+)/)));
  const answers = async () =>
    Promise.all(urls.map(async (url) => (await (await fetch(`${url}/jobs`)).text()).trim()));
  const leads = nodes.findIndex(({ lines }) => lines.some((line) => line.endsWith("leads in term 1")));
  const [leader, follower] = leads === 0 ? ["a", "b"] : ["b", "a"];
  expect(await answers()).toEqual(urls.map(() => `served by ${leader} in term 1`));
  expect(await nodes[leads]?.end("SIGTERM")).toBe(0);
  await nodes[1 - leads]?.said(/leads in term 2$/);
  const answer = await fetch(urls[1 - leads] ?? "");
  expect(await answer.text()).toBe(`served by ${follower} in term 2\n`);
});

test("coordinator: one node gives polls to healthy members, and the next coordinator continues", async () => {
  const env = await service();
  const a = new Program("examples/dist/coordinator.js", ["a"], env);
  await a.said(/a coordinates in term 1$/);
  const b = new Program("examples/dist/coordinator.js", ["b"], env);
  await b.said(/b sees a coordinate$/);
  await a.said(/a gives disks to [ab] in term 1$/);
  expect(await a.end("SIGTERM")).toBe(0);
  expect(a.lines.slice(-2)).toEqual(["a coordinates no more: stopped", "a has ended"]);
  await b.said(/b coordinates in term 2$/);
  await b.said(/b gives disks to [ab] in term 2$/);
  expect(await b.end("SIGTERM")).toBe(0);
});
