/** Elections over HTTP beside elections over the same store: their reports must not differ. */
import { Election, type KnownLeader } from "@tenure/client";
import { type Elector, StoreElector } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { closing, later } from "../auth/auth.test-kit.js";
import { elector } from "./http-elector.test-kit.js";
import { cleanUp, memory, serve } from "./service.test-kit.js";

afterEach(cleanUp);

/** Leads after another term has ended in this way, and returns what its own election reported. */
async function takeover(over: Elector, end: "expired" | "resigned", groupId: string): Promise<KnownLeader> {
  const before = await over.campaign({ groupId, nodeId: "before", ttlMs: 1000 });
  if (before.kind !== "elected") throw new Error("it was not elected");
  const election = new Election(over, { groupId, nodeId: "after", ttlMs: 1000 });
  later(() => election.stop());
  const told = new Promise<KnownLeader>((resolve) => {
    election.onLeaderChange((leader) => {
      if (leader.nodeId === "after") resolve(leader);
    });
  });
  await election.start();
  if (end === "resigned") await over.resign({ groupId, nodeId: "before", term: before.leader.term });
  return told;
}

test.each(["expired", "resigned"] as const)(
  "a new leader sees that the previous term %s, over HTTP as over a store",
  async (end) => {
    const store = memory();
    const { url } = await serve({}, { store });
    const over = { http: await elector([url]), store: closing(StoreElector.open({ store: memory() })) };
    const told = await Promise.all([
      takeover(over.http, end, "over-http"),
      takeover(over.store, end, "over-store"),
    ]);
    expect(told.map(({ reason }) => reason)).toEqual([end, end]);
  },
);
