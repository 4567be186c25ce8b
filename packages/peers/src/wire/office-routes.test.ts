/** What a server's certificate alone does not allow: to decide, to apply, to fence, to take a lease. */
import { afterEach, describe, expect, it } from "vitest";
import { named, TestNode } from "./node.test-kit.js";

const SELF = named("server/n1");
const OTHER = named("server/n2");

let test: TestNode;
afterEach(() => test.stop());

async function refused(path: string, asked: Parameters<TestNode["ask"]>[2]): Promise<object> {
  return (await test.ask("POST", path, asked)).body;
}

async function config(): Promise<{ cluster: string; epoch: readonly number[] }> {
  const { body } = await test.ask("GET", "/v1/tc/leader");
  return (body["peer"] as { config: { cluster: string; epoch: readonly number[] } }).config;
}

/** n2 says that it is there; whether it can be reached, nobody knows. */
async function announceOther(): Promise<void> {
  const body = { self_endpoint: "http://127.0.0.1:1", disk: "d2" };
  expect((await test.ask("POST", "/v1/tc/cluster/announce", { as: OTHER, body })).status).toBe(200);
}

describe("a server that holds no office", () => {
  const ABSURD = Number.MAX_SAFE_INTEGER;
  const decided = (txnId: string): object => ({ txn_id: txnId, decision: "abort" });
  const held = { ...decided("forged"), tc_term: 1, final: true, done_for_ms: null };
  const requests: readonly (readonly [string, object])[] = [
    ["/v1/tc/decisions/prepare", { txn_id: "t" }],
    ["/v1/tc/decisions/remember", decided("t")],
    ["/v1/tc/decisions/held", { which: "all", after: "" }],
    ["/v1/tc/decisions/tell", { decisions: [held] }],
    ["/v1/rm/apply", decided("t")],
  ];

  it.each([1, 2, ABSURD])("decides nothing with the term %d, and fences no coordinator", async (term) => {
    test = await TestNode.leading();
    const { cluster } = await config();
    await announceOther();
    for (const as of [OTHER, named("server/stranger")]) {
      for (const [path, fields] of requests) {
        for (const named of [{}, { cluster }, { cluster: "another" }]) {
          const body = { ...fields, ...named, tc_term: term };
          expect((await test.ask("POST", path, { as, body })).status).toBeGreaterThanOrEqual(400);
        }
      }
    }
    const forged = { decisions: [held] };
    expect((await test.ask("POST", "/v1/tc/decisions/tell", { as: OTHER, body: forged })).status).toBe(400);
    expect((await test.ask("GET", "/v1/tc/decisions/forged")).body).toMatchObject({ error: "txn_unknown" });
    const body = { txn_id: "t", decision: "commit" };
    expect((await test.ask("POST", "/v1/tc/decide", { body })).body).toMatchObject({
      decision: "commit",
      pending: [],
    });
  });

  it("is not obeyed with a higher term than was voted for, not even by the coordinator", async () => {
    test = await TestNode.leading();
    const { cluster } = await config();
    for (const [path, fields] of requests) {
      const body = { ...fields, cluster, tc_term: ABSURD };
      expect(await refused(path, { as: SELF, body })).toMatchObject({ error: "tc_forbidden" });
    }
    const body = { txn_id: "t", decision: "commit" };
    expect((await test.ask("POST", "/v1/tc/decide", { body })).status).toBe(200);
  });

  it("is granted no lease before it has announced itself, and cannot name an electorate without itself", async () => {
    test = await TestNode.leading();
    await test.node.peer.resign(1);
    const { cluster, epoch } = await config();
    const lease = { term: 9, ttl_ms: 1000 };
    const endpoint = "http://127.0.0.1:8";
    const body = { candidate_id: "n2", candidate_endpoint: endpoint, ...lease, cluster, epoch };
    expect(await refused("/v1/tc/lease/acquire", { as: OTHER, body })).toMatchObject({
      error: "tc_forbidden",
    });
    const stolen = { leader_id: "n2", leader_endpoint: endpoint, ...lease, config: await config() };
    await announceOther();
    expect(await refused("/v1/tc/lease/renew", { as: OTHER, body: stolen })).toMatchObject({
      error: "tc_forbidden",
    });
  });
});
