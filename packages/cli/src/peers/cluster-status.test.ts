import type { StatusShape } from "@tenure/peers";
import { describe, expect, it } from "vitest";
import { clusterStatus, placesIn, type ServerView } from "./cluster-status.js";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const NAMES = ["a", "b", "c"];
const at = (name: string): string => `https://${name}:1`;

function statusOf(name: string, change: Partial<StatusShape> = {}): StatusShape {
  return {
    identity: name,
    endpoint: at(name),
    disk: `disk-${name}`,
    ttl_ms: 5000,
    term: 3,
    is_leader: name === "a",
    is_elector: true,
    electorate: {
      cluster: "c1",
      epoch: [3, 0],
      members: Object.fromEntries(NAMES.map((each) => [each, { endpoint: at(each), disk: `disk-${each}` }])),
    },
    members: NAMES.map((each) => ({ identity: each, endpoint: at(each) })),
    leader: { leader_id: "a", leader_endpoint: at("a"), term: 3 },
    missing: [],
    held_back: null,
    not_standing: null,
    undelivered: 0,
    certificate: { name: `node-${name}`, serial: "01", expires_at: "2031-01-01T00:00:00.000Z" },
    ...change,
  };
}

const answered = (status: StatusShape): ServerView => ({
  endpoint: status.endpoint,
  identity: status.identity,
  status,
  problem: null,
});
const silent = (name: string): ServerView => ({
  endpoint: at(name),
  identity: name,
  status: null,
  problem: "connection refused",
});
const problems = (...servers: readonly ServerView[]): readonly string[] => {
  const first = servers.find(({ status }) => status !== null)?.status as StatusShape;
  return clusterStatus(first, servers, NOW_MS).problems;
};

describe("the status of a cluster", () => {
  it("the status names the coordinator and finds no problem in a healthy cluster", () => {
    const servers = NAMES.map((name) => answered(statusOf(name)));
    const status = clusterStatus(statusOf("b"), servers, NOW_MS);
    expect(status).toMatchObject({ cluster: "c1", epoch: [3, 0], leader: { leader_id: "a" }, problems: [] });
    expect([...placesIn(statusOf("b")).keys()].toSorted()).toEqual(NAMES.map(at));
  });

  it("the status says why there is no coordinator, how many electors are needed, and which do not answer", () => {
    const detail = "only 1 of 3 electors answer";
    const alone = statusOf("c", {
      leader: null,
      not_standing: { reason: "no-majority", detail, for_ms: 9000 },
    });
    const found = problems(silent("a"), silent("b"), answered(alone));
    expect(found).toEqual([
      "there is no coordinator: 2 of the 3 electors are needed",
      `${at("c")} does not campaign: ${detail}`,
      `${at("a")}, an elector, does not respond: connection refused`,
      `${at("b")}, an elector, does not respond: connection refused`,
    ]);
  });

  it("the status does not accept another server's word for a coordinator that does not answer", () => {
    expect(clusterStatus(statusOf("b"), [silent("a"), answered(statusOf("b"))], NOW_MS).leader).toBeNull();
  });

  it("the status finds expiring certificates, different settings, another cluster and steps that are held back", () => {
    const certificate = { name: "node-b", serial: "02", expires_at: "2030-01-11T00:00:00.000Z" };
    const expired = { ...certificate, expires_at: "2029-12-31T00:00:00.000Z" };
    const held = { reason: "held", detail: "decisions are not carried", for_ms: 42_000 };
    const other = { cluster: "c2", epoch: [1, 0], members: {} } as const;
    const found = problems(
      answered(statusOf("a", { held_back: held, undelivered: 2 })),
      answered(statusOf("b", { certificate, ttl_ms: 8000 })),
      answered(statusOf("c", { certificate: expired })),
      answered(statusOf("d", { electorate: other, is_leader: true })),
    ).join("\n");
    for (const part of [
      "held back for 42s: decisions are not carried",
      "2 decisions are not applied everywhere",
      `the certificate of ${at("b")} expires on 2030-01-11`,
      `the certificate of ${at("c")} has expired`,
      `${at("d")} belongs to another cluster, c2`,
      `--tc-ttl differs: 5000 ms at ${at("a")}, ${at("c")}, ${at("d")}; 8000 ms at ${at("b")}`,
    ])
      expect(found).toContain(part);
  });

  it("a step that was sent within a lease is not a problem", () => {
    const held = { reason: "not-stored", detail: "it was sent", for_ms: 1000 };
    expect(problems(answered(statusOf("a", { held_back: held })))).toEqual([]);
  });

  it("the status shows a member that is not an elector, and an elector that the coordinator cannot reach", () => {
    const found = problems(
      answered(statusOf("a", { missing: [{ identity: "c", endpoint: at("c") }] })),
      answered(statusOf("d", { is_elector: false })),
    );
    expect(found).toContain(`the coordinator cannot reach ${at("c")}`);
    expect(found).toContain(`${at("d")} is not an elector yet: the coordinator adds it when it can reach it`);
  });
});
