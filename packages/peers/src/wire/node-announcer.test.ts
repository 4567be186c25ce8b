import { MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import { OwnRecords } from "../disk/own-records.js";
import type { Announcer } from "../membership/announcer.js";
import { Membership } from "../membership/membership.js";
import type { Configuration } from "../protocol/messages.js";
import { MAX_MEMBERS } from "./codec.js";
import { TestNode, TTL_MS } from "./node.test-kit.js";
import { joinCluster, namedIn, nodeAnnouncer, type NodeAnnouncerParts } from "./node-announcer.js";
import { PeerLog } from "./peer-log.js";

describe("endpoints that another server names", () => {
  it("endpoints named by another server are normalized, and left out if they cannot be called", () => {
    const named = ["https://n1:1/", "https://n2:1", "ftp://n3", "n4", 7, null, "https://n5:1/path"];
    expect(namedIn(named)).toEqual(["https://n1:1", "https://n2:1"]);
    expect(namedIn("https://n1:1")).toEqual([]);
    expect(namedIn(undefined)).toEqual([]);
  });

  it("at most MAX_MEMBERS named endpoints are used, because each of them is called", () => {
    const many = Array.from({ length: 10 * MAX_MEMBERS }, (_, index) => `https://n${index}:1`);
    expect(namedIn(many)).toHaveLength(MAX_MEMBERS);
  });
});

describe("a server whose join targets do not answer", () => {
  const start = (config: Configuration | null, reached: readonly string[]): Promise<void> => {
    const clock = new VirtualClock();
    const announcer = { announce: async () => ({ reached, failed: [] }) } as unknown as Announcer;
    const joined = joinCluster(announcer, {
      options: { ...TestNode.options, join: ["https://gone:1"] },
      clock,
      electorate: () => config,
    });
    joined.catch(() => {});
    return clock.advance(2 * TTL_MS).then(() => joined);
  };
  const known: Configuration = { cluster: "c", epoch: { term: 1, n: 0 }, members: {} };

  it("a server whose join targets do not answer starts if it was in a cluster and reaches any of its members", async () => {
    await start(known, ["https://member:1"]);
  });

  it("a server does not start if it reaches no member, or was never in a cluster", async () => {
    await expect(start(known, [])).rejects.toThrow("none of the join targets https://gone:1");
    await expect(start(null, ["https://member:1"])).rejects.toThrow("none of the join targets");
  });
});

describe("a server whose join list names itself by another spelling", () => {
  const SPELLED = "http://localhost:9";
  const MEMBER = "http://127.0.0.1:1";

  /** At that endpoint this server itself answers, at any other the server n2. */
  async function start(config: Configuration | null): Promise<void> {
    const clock = new VirtualClock();
    const records = await OwnRecords.open(new MemoryStore());
    const { identity } = TestNode.options;
    const parts = {
      options: { ...TestNode.options, join: [SPELLED] },
      disk: "d1",
      clock,
      membership: new Membership({ self: identity, ttlMs: 3 * TTL_MS, clock, records }),
      electorate: () => config,
      leader: () => null,
      log: new PeerLog({ info: () => {}, warn: () => {} }),
      metrics: { announceFailures: { inc: () => {} } },
      calls: {
        send: async (to: string) => {
          return { status: 200, body: { endpoints: [] }, identity: to === SPELLED ? identity : "n2" };
        },
      },
    } as unknown as NodeAnnouncerParts;
    const joined = joinCluster(nodeAnnouncer(parts), parts);
    joined.catch(() => {});
    await clock.advance(2 * TTL_MS);
    return joined;
  }

  it("a join list with the server itself by another spelling is refused at the first start", async () => {
    await expect(start(null)).rejects.toThrow(
      `names ${SPELLED}, which is this server itself, known to others as ${TestNode.options.endpoint}`,
    );
  });

  it("a join list with the server itself by another spelling is accepted if it was in a cluster and reaches a member", async () => {
    const members = { n2: { endpoint: MEMBER, disk: "d2" } };
    await start({ cluster: "c", epoch: { term: 1, n: 0 }, members });
  });
});
