import { describe, expect, it } from "vitest";
import { MAX_MEMBERS } from "./codec.js";
import { VirtualClock } from "@tenure/core/testing";
import type { Announcer } from "../membership/announcer.js";
import type { Configuration } from "../protocol/messages.js";
import { TestNode, TTL_MS } from "./node.test-kit.js";
import { joinCluster, namedIn } from "./node-announcer.js";

describe("endpoints that another server names", () => {
  it("are taken in one spelling, and only if they can be called", () => {
    const named = ["https://n1:1/", "https://n2:1", "ftp://n3", "n4", 7, null, "https://n5:1/path"];
    expect(namedIn(named)).toEqual(["https://n1:1", "https://n2:1"]);
    expect(namedIn("https://n1:1")).toEqual([]);
    expect(namedIn(undefined)).toEqual([]);
  });

  it("are at most as many as an electorate can have: each of them is called", () => {
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

  it("starts if it has been of a cluster and reaches any of its members", async () => {
    await start(known, ["https://member:1"]);
  });

  it("does not start if it reaches no member, or if it has never been of a cluster", async () => {
    await expect(start(known, [])).rejects.toThrow("none of the join targets https://gone:1");
    await expect(start(null, ["https://member:1"])).rejects.toThrow("none of the join targets");
  });
});
