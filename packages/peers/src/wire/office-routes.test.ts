/** What a server's certificate alone does not allow: to decide, to apply, to fence, to take a lease. */
import { afterEach, describe, expect, it } from "vitest";
import { named, TestNode, TTL_MS } from "./node.test-kit.js";

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

/** n2 announces itself; whether it can be reached is unknown. */
async function announceOther(): Promise<void> {
  const body = { self_endpoint: "http://127.0.0.1:1", disk: "d2" };
  expect((await test.ask("POST", "/v1/tc/cluster/announce", { as: OTHER, body })).status).toBe(200);
}

describe("a server without an office", () => {
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

  it.each([1, 2, ABSURD])(
    "a server without an office decides nothing with the term %d, and fences no coordinator",
    async (term) => {
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
    },
  );

  it("no server is obeyed with a higher term than was voted for, not even the coordinator", async () => {
    test = await TestNode.leading();
    const { cluster } = await config();
    for (const [path, fields] of requests) {
      const body = { ...fields, cluster, tc_term: ABSURD };
      expect(await refused(path, { as: SELF, body })).toMatchObject({ error: "tc_forbidden" });
    }
    const body = { txn_id: "t", decision: "commit" };
    expect((await test.ask("POST", "/v1/tc/decide", { body })).status).toBe(200);
  });

  it("a server gets no lease before it has announced itself, and cannot name an electorate without itself", async () => {
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

describe("a server that is not a member of the cluster", () => {
  const entry = { backend_hash: "ab12", endpoint: "http://127.0.0.1:1" };
  const version = [5, "stranger"];
  const REPLICA = { "x-tenure-tc-replicate": "1" };
  /** Requests that any server's certificate could make, with and without the header of servers among themselves. */
  const changes = ["register", "unregister"].flatMap((kind) =>
    [{}, REPLICA].flatMap((headers) =>
      (headers === REPLICA ? [entry, { ...entry, version }] : [entry]).map((body) => ({
        path: `/v1/tc/rm/${kind}`,
        headers,
        body,
      })),
    ),
  );
  const stranger = named("server/stranger");
  const backends = async (): Promise<unknown> => (await test.ask("GET", "/v1/tc/rm/list")).body["backends"];

  it("a server that is not a member neither reads nor changes the registry, as a replica or on its own", async () => {
    test = await TestNode.leading();
    expect((await test.ask("POST", "/v1/tc/rm/register", { as: SELF, body: entry })).status).toBe(200);
    const before = await backends();
    for (const { path, headers, body } of changes) {
      const { status, body: answer } = await test.ask("POST", path, { as: stranger, headers, body });
      expect([path, status, answer["error"]]).toEqual([path, 403, "tc_forbidden"]);
    }
    for (const path of ["/v1/tc/rm/list", "/v1/tc/rm/list?after="]) {
      expect((await test.ask("GET", path, { as: stranger })).body).toMatchObject({ error: "tc_forbidden" });
      expect((await test.ask("GET", path, { as: named("tc/clerk") })).status).toBe(200);
    }
    expect(await backends()).toEqual(before);
  });

  it("a server becomes a member by its announcement, until it has left or expired", async () => {
    test = await TestNode.leading();
    const replica = { as: OTHER, headers: REPLICA, body: { ...entry, version } };
    expect((await test.ask("POST", "/v1/tc/rm/register", replica)).body).toMatchObject({
      error: "tc_forbidden",
    });
    await announceOther();
    expect((await test.ask("POST", "/v1/tc/rm/register", replica)).status).toBe(200);
    expect((await test.ask("GET", "/v1/tc/rm/list", { as: OTHER })).status).toBe(200);
    await test.clock.advance(4 * TTL_MS);
    expect((await test.ask("GET", "/v1/tc/rm/list", { as: OTHER })).status).toBe(403);
  });

  it("a server that has left may unregister itself, and nothing else", async () => {
    test = await TestNode.leading();
    await announceOther();
    const ask = async (kind: string, body: object): Promise<number> =>
      (await test.ask("POST", `/v1/tc/rm/${kind}`, { as: OTHER, headers: REPLICA, body })).status;
    const elsewhere = { ...entry, endpoint: "http://127.0.0.1:2" };
    expect(await ask("register", { ...entry, version })).toBe(200);
    const headers = { "x-tenure-tc-leave-fanout": "1" };
    expect((await test.ask("POST", "/v1/tc/cluster/leave", { as: OTHER, headers })).status).toBe(200);
    const later = [6, "n2"];
    expect(await ask("register", { ...entry, version: later })).toBe(403);
    expect(await ask("unregister", { ...elsewhere, version: later })).toBe(403);
    expect(await ask("unregister", { ...entry, version: later })).toBe(200);
    expect(JSON.stringify(await backends())).not.toContain(entry.endpoint);
  });

  it("a server cannot announce itself with the name of another cluster", async () => {
    test = await TestNode.leading();
    const { cluster } = await config();
    const announce = async (named: object): Promise<number> => {
      const body = { self_endpoint: entry.endpoint, disk: "d2", ...named };
      return (await test.ask("POST", "/v1/tc/cluster/announce", { as: OTHER, body })).status;
    };
    expect(await announce({ cluster: "another" })).toBe(403);
    expect((await test.ask("GET", "/v1/tc/rm/list", { as: OTHER })).status).toBe(403);
    const { body } = await test.ask("GET", "/v1/tc/cluster/list");
    expect(body["endpoints"]).toEqual([TestNode.options.endpoint]);
    expect(await announce({ cluster })).toBe(200);
    // A server without a cluster joins this one.
    expect(await announce({})).toBe(200);
  });
});

it("a leave for another server is refused, names the server to ask, and changes nothing", async () => {
  test = await TestNode.leading();
  await announceOther();
  const members = async (): Promise<unknown> =>
    (await test.ask("GET", "/v1/tc/cluster/list")).body["endpoints"];
  const before = await members();
  expect(before).toHaveLength(2);
  expect(await refused("/v1/tc/cluster/leave", { as: OTHER, body: {} })).toMatchObject({
    error: "tc_forbidden",
    detail: expect.stringContaining("ask n2 itself to leave, at http://127.0.0.1:1") as string,
  });
  expect(await members()).toEqual(before);
});
