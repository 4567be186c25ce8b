/** Renewals from a separate thread, in real processes and threads, against a real service. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Api } from "../api.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";
import type { Participant } from "./participant.test-kit.js";
import { Participants } from "./participants.test-kit.js";

const TTL_MS = 1500;
const BEAT_MS = TTL_MS / 5;
const STALL_LIMIT_MS = 2.5 * TTL_MS;
const BEATS = 5;

describe("a leader with its renewer in a worker thread", () => {
  const participants = new Participants();
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await participants.serve();
    api = new Api(server.port);
  });
  afterAll(async () => {
    api.close();
    await participants.close();
  });

  async function pair(group: string): Promise<{ leader: Participant; follower: Participant }> {
    const shared = { endpoints: [server.url], ttlMs: TTL_MS };
    const leader = await participants.launch({ nodeId: "leader", ...shared, stallLimitMs: STALL_LIMIT_MS });
    const follower = await participants.launch({ nodeId: "follower", ...shared });
    await leader.start(group);
    await leader.promoted(group);
    await follower.start(group);
    return { leader, follower };
  }

  it("a leader with a worker renewer still leads after its event loop was held up for 2 × ttl, and no other node has led", async () => {
    const { leader, follower } = await pair("short");
    const { leader: before } = (await api.leader("short")).body;
    await leader.hold("short", 2 * TTL_MS);
    const held = await leader.next("held");
    const failures = JSON.stringify(leader.untaken("failure"));
    expect(held, failures).toMatchObject({ isLeader: true, isAborted: false });
    expect((await api.leader("short")).body.leader).toMatchObject({ node_id: "leader", term: before?.term });
    expect(follower.untaken("promoted")).toEqual([]);
    expect(await leader.close()).toBe(0);
    await follower.promoted("short");
    expect(await follower.close()).toBe(0);
  });

  it("a leader with a worker renewer still leads if its work begins with a turn of 2 × ttl", async () => {
    const leader = await participants.launch({
      nodeId: "leader",
      ttlMs: TTL_MS,
      endpoints: [server.url],
      stallLimitMs: STALL_LIMIT_MS,
      busyAtFirstMs: 2 * TTL_MS,
    });
    leader.order({ kind: "start", group: "busy" });
    const held = await leader.next("held");
    expect(held, JSON.stringify(leader.untaken("failure"))).toMatchObject({
      isLeader: true,
      isAborted: false,
    });
    expect(await leader.close()).toBe(0);
  });

  it("a leader with a worker renewer that is held up beyond the limit no longer leads, and its lease expires without a resignation", async () => {
    const { leader, follower } = await pair("long");
    await leader.hold("long", STALL_LIMIT_MS + 1.5 * TTL_MS);
    const won = await follower.promoted("long");
    // Its work had not ended: nothing was resigned.
    expect(leader.untaken("held")).toEqual([]);
    expect((await api.get("/v1/groups/long/history")).body.events?.at(-1)).toMatchObject({
      reason: "expired",
    });
    expect(await leader.next("held")).toMatchObject({ isLeader: false, isAborted: true });
    expect(await leader.next("demoted")).toMatchObject({ reason: "lapsed" });
    // It campaigns again.
    expect(await follower.close()).toBe(0);
    expect((await leader.promoted("long")).term).toBeGreaterThan(won.term);
    expect(await leader.close()).toBe(0);
  });

  it("one worker thread renews all elections together", async () => {
    const groups = Array.from({ length: 20 }, (_, index) => `many-${index}`);
    const leader = await participants.launch({
      nodeId: "leader",
      ttlMs: TTL_MS,
      endpoints: [server.url],
      stallLimitMs: STALL_LIMIT_MS,
    });
    for (const group of groups) await leader.start(group);
    const before = await renewalRequests(api);
    await leader.hold("many-0", BEATS * BEAT_MS);
    expect(await leader.next("held")).toMatchObject({ isLeader: true });
    const after = await renewalRequests(api);
    const batches = after.batches - before.batches;
    console.log(`${groups.length} elections, ${BEATS} heartbeats: ${batches} requests`);
    expect(batches).toBeGreaterThanOrEqual(BEATS - 1);
    expect(batches).toBeLessThan((groups.length * BEATS) / 4);
    expect(after.single).toBe(before.single);
    expect(await leader.close()).toBe(0);
  });

  it("isLeader() with a worker renewer is cheap", async () => {
    const leader = await participants.launch({
      nodeId: "leader",
      ttlMs: TTL_MS,
      endpoints: [server.url],
      stallLimitMs: STALL_LIMIT_MS,
    });
    await leader.start("cost");
    leader.order({ kind: "cost", group: "cost" });
    const { askNs, lookNs, bytes } = await leader.next("cost");
    console.log(
      `isLeader(): ${askNs.toFixed(0)} ns, ${bytes.toFixed(3)} bytes; a look at the clock: ${lookNs.toFixed(0)} ns`,
    );
    expect(askNs).toBeLessThan(4 * lookNs);
    // The smallest allocation is eight bytes.
    expect(bytes).toBeLessThan(1);
    expect(await leader.close()).toBe(0);
  });
});

/** The number of answers of the service, by kind. */
async function renewalRequests(api: Api): Promise<{ readonly batches: number; readonly single: number }> {
  const text = await api.text("/metrics");
  const count = (route: string): number => {
    const line = text
      .split("\n")
      .find((each) => each.startsWith("request_latency_ms_count") && each.includes(`"${route}"`));
    return Number(line?.split(" ").at(-1) ?? 0);
  };
  return { batches: count("/v1/renew"), single: count("/v1/groups/:group_id/renew") };
}
