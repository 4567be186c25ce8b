/** A single node: its log, its metrics, and how it handles members that come and go. */
import { afterEach, describe, expect, it } from "vitest";
import { named, TestNode } from "./node.test-kit.js";

let test: TestNode;
afterEach(() => test.stop());

const OTHER = named("server/n2");
const announce = { as: OTHER, body: { self_endpoint: "http://127.0.0.1:1", disk: "d2" } };

describe("the log of a node", () => {
  it("the log names leader, voters, members, registrations and decisions, each once", async () => {
    test = await TestNode.leading();
    await test.clock.advance(5000);
    for (let count = 0; count < 3; count++) await test.ask("POST", "/v1/tc/cluster/announce", announce);
    const headers = { "x-tenure-tc-leave-fanout": "1" };
    await test.ask("POST", "/v1/tc/cluster/leave", { as: OTHER, body: {}, headers });
    await test.ask("POST", "/v1/tc/decide", { body: { txn_id: "t", decision: "commit" } });
    const sentences = test.log.map(({ sentence }) => sentence);
    for (const sentence of [
      "this server has founded the cluster",
      "the electorate has changed",
      "became coordinator",
      "a resource manager is registered",
      "a server joined the membership",
      "a server left the membership",
      "transaction decided",
    ])
      expect(sentences.filter((each) => each === sentence)).toHaveLength(1);
  });

  it("the log names the servers waited for, and a member that cannot be reached, once only", async () => {
    test = await TestNode.open({ join: [TestNode.options.endpoint, "http://127.0.0.1:1"] });
    await test.node.start();
    await test.clock.advance(3000);
    expect(test.said("waiting to take part: ")).toBe(true);
    expect(
      test.log.filter(({ sentence }) => sentence.startsWith("announcing this server failed")),
    ).toHaveLength(1);
  });
});

describe("the log and status for operators", () => {
  const at = (ttl: number) => ({ ...announce, body: { ...announce.body, ttl_ms: ttl } });

  it("a server that falls silent is logged once, and one that leaves is not logged as silent", async () => {
    test = await TestNode.leading();
    const leaver = named("server/n3");
    const body = { self_endpoint: "http://127.0.0.1:2", disk: "d3" };
    await test.ask("POST", "/v1/tc/cluster/announce", announce);
    await test.ask("POST", "/v1/tc/cluster/announce", { as: leaver, body });
    await test.clock.advance(1500);
    const headers = { "x-tenure-tc-leave-fanout": "1" };
    await test.ask("POST", "/v1/tc/cluster/leave", { as: leaver, body: {}, headers });
    await test.clock.advance(10_000);
    const silent = test.log.filter(({ sentence }) => sentence.startsWith("a member's announcements expired"));
    expect(silent).toEqual([
      expect.objectContaining({ fields: { identity: "n2", endpoint: announce.body.self_endpoint } }),
    ]);
  });

  it("a server with another --tc-ttl is logged once, until it is the same", async () => {
    test = await TestNode.leading();
    const warned = () => test.log.filter(({ sentence }) => sentence.includes("another --tc-ttl")).length;
    for (const ttl of [8000, 8000, 1000]) await test.ask("POST", "/v1/tc/cluster/announce", at(ttl));
    expect(warned()).toBe(1);
    await test.ask("POST", "/v1/tc/cluster/announce", at(8000));
    expect(warned()).toBe(2);
  });

  it("the status has electorate, members, leader, term, missing electors and why no step happens", async () => {
    test = await TestNode.leading();
    await test.clock.advance(1000);
    const { status, body } = await test.ask("GET", "/v1/tc/status");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      identity: "n1",
      ttl_ms: 1000,
      term: 1,
      is_leader: true,
      is_elector: true,
      electorate: { members: { n1: { endpoint: TestNode.options.endpoint } } },
      leader: { leader_id: "n1", term: 1 },
      missing: [],
      held_back: null,
      not_standing: null,
      certificate: null,
    });
    await test.stop();
    test = await TestNode.open({ join: [TestNode.options.endpoint, "http://127.0.0.1:1"] });
    await test.node.start();
    await test.clock.advance(3000);
    expect((await test.ask("GET", "/v1/tc/status")).body).toMatchObject({
      leader: null,
      electorate: null,
      not_standing: { reason: "not-founded" },
    });
  });
});

describe("the metrics of a node", () => {
  it("the metrics of a node count elections, losses, decisions and failures, and show the current state", async () => {
    test = await TestNode.leading();
    await test.ask("POST", "/v1/tc/decide", { body: { txn_id: "t", decision: "abort" } });
    await test.node.peer.resign(1);
    while (!test.node.peer.isLeader()) await test.clock.advance(10);
    await test.ask("POST", "/v1/tc/cluster/announce", announce);
    const body = { backend_hash: "h", endpoint: "http://127.0.0.1:7" };
    await test.ask("POST", "/v1/tc/rm/register", { as: OTHER, body });
    const text = await test.registry.metrics();
    for (const line of [
      "tc_is_leader 1",
      "tc_term 2",
      "tc_members 2",
      "tc_electors 1",
      "tc_rm_endpoints 1",
      "tc_undelivered 0",
      "tc_elected_total 2",
      'tc_lost_total{cause="resigned"} 1',
      'tc_decisions_total{decision="abort"} 1',
      "tc_rm_replication_failures_total 1",
    ])
      expect(text.split("\n")).toContain(line);
  });
});

describe("answers of a node", () => {
  it("the answer of /v1/tc/leader has the lease, its wall-clock end and the state for the protocol", async () => {
    test = await TestNode.leading();
    const { body } = await test.ask("GET", "/v1/tc/leader");
    const endpoint = TestNode.options.endpoint;
    expect(body).toMatchObject({ leader_id: "n1", leader_endpoint: endpoint, term: 1 });
    const expiresAt = body["expires_at"] as number;
    expect(expiresAt - test.clock.wallMs()).toBeGreaterThan(0);
    expect(body["peer"]).toMatchObject({ identity: "n1", term: 1, founder: endpoint, leading: true });
  });

  it("answers to an announcement and a list have the endpoints and, in seconds, since when and until when", async () => {
    test = await TestNode.leading();
    const { body } = await test.ask("POST", "/v1/tc/cluster/announce", announce);
    const nowS = Math.floor(test.clock.wallMs() / 1000);
    const endpoints = ["http://127.0.0.1:1", TestNode.options.endpoint];
    expect(body).toEqual({ endpoints, updated_at_unix: nowS, expires_at_unix: nowS + 4 });
    expect((await test.ask("GET", "/v1/tc/cluster/list")).body).toMatchObject({ endpoints });
  });

  it("a replica request changes only this server, and the higher of two versions stays", async () => {
    test = await TestNode.leading();
    // A member that cannot be reached would make any other change fail.
    await test.ask("POST", "/v1/tc/cluster/announce", announce);
    const replica = (verb: string, n: number) =>
      test.ask("POST", `/v1/tc/rm/${verb}`, {
        as: OTHER,
        headers: { "x-tenure-tc-replicate": "1" },
        body: { backend_hash: "h", endpoint: "http://127.0.0.1:7", version: [n, "n2"] },
      });
    expect(await replica("register", 2)).toMatchObject({
      status: 200,
      body: { endpoints: ["http://127.0.0.1:7"] },
    });
    expect((await replica("unregister", 1)).body).toMatchObject({
      entry: { registered: true, version: [2, "n2"] },
    });
    expect((await replica("unregister", 3)).body).toMatchObject({ endpoints: [] });
  });

  it("the answer to a repeated registration is the same", async () => {
    test = await TestNode.leading();
    const asked = { as: named("server/n1"), body: { backend_hash: "h", endpoint: "http://127.0.0.1:7/" } };
    const first = await test.ask("POST", "/v1/tc/rm/register", asked);
    await test.clock.advance(60_000);
    expect(await test.ask("POST", "/v1/tc/rm/register", asked)).toEqual(first);
    expect(first.body).toEqual({
      backend_hash: "h",
      endpoints: ["http://127.0.0.1:7"],
      updated_at_unix: first.body["updated_at_unix"],
    });
  });
});
