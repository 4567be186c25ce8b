/** Two services over one store behave as one. */
import { afterEach, expect, test } from "vitest";
import { cleanUp, memory, serve } from "./service.test-kit.js";

afterEach(cleanUp);

async function two() {
  const store = memory();
  return [await serve({}, { store }), await serve({}, { store })] as const;
}

test("a term won at one server is known, renewed and resigned at the other", async () => {
  const [one, other] = await two();
  await one.campaign("g", "a", { metadata: { zone: "z" } });
  expect((await other.leader("g")).body).toMatchObject({ leader: { node_id: "a", metadata: { zone: "z" } } });
  expect((await other.campaign("g", "b")).body).toMatchObject({ is_leader: false, leader: { node_id: "a" } });
  expect((await other.renew("g", "a", 1)).body).toMatchObject({ ok: true });
  expect((await other.resign("g", "a", 1)).body).toEqual({ ok: true });
  expect((await one.renew("g", "a", 1)).body).toMatchObject({ error: "NOT_LEADER", current_leader: null });
});

test("exactly one of many simultaneous campaigns at two servers wins, and each term has one holder", async () => {
  const [one, other] = await two();
  for (let term = 1; term <= 20; term++) {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).campaign("g", `n${index}`)),
    );
    const winners = answers.filter(({ body }) => body["is_leader"] === true);
    expect(winners).toHaveLength(1);
    const leader = winners[0]?.body["leader"] as { node_id: string; term: number };
    expect(leader.term).toBe(term);
    await (term % 2 === 0 ? one : other).resign("g", leader.node_id, term);
  }
  expect(await one.metric("split_brain_detected_total")).toBe(0);
  expect(await other.metric("split_brain_detected_total")).toBe(0);
});

test("a campaign that waits at one server wins when the leader resigns at the other, and both report it", async () => {
  const [one, other] = await two();
  await one.campaign("g", "a", { lease_ttl_ms: 60_000 });
  const streams = [await one.stream("/v1/groups/g/watch"), await other.stream("/v1/watch")];
  for (const stream of streams) await stream.event();
  const waiting = other.campaign("g", "b", { wait_ms: 60_000 });
  await other.untilMetric("waiting_campaigns", 1);
  await one.resign("g", "a", 1);
  expect((await waiting).body).toMatchObject({ is_leader: true, leader: { term: 2 } });
  for (const stream of streams) {
    expect((await stream.event()).data).toMatchObject({ type: "LEADER_LOST", reason: "resigned" });
    expect((await stream.event()).data).toMatchObject({ type: "LEADER_CHANGED", leader_node_id: "b" });
  }
});

test("a cursor from one server continues at the other", async () => {
  const [one, other] = await two();
  await one.campaign("g", "a");
  const { body } = await one.get("/v1/watch");
  const { body: ofGroup } = await one.get("/v1/groups/g/watch");
  await one.resign("g", "a", 1);
  for (const path of [
    `/v1/watch?cursor=${String(body["cursor"])}`,
    `/v1/groups/g/watch?cursor=${String(ofGroup["cursor"])}`,
  ]) {
    expect((await other.get(path)).body).toMatchObject({ events: [{ type: "LEADER_LOST", group_id: "g" }] });
  }
});

test("groups and members are the same at both servers", async () => {
  const [one, other] = await two();
  await one.post("/v1/groups", { group_id: "g", policy: { min_ttl_ms: 1000 } });
  await one.campaign("g", "a");
  expect((await other.get("/v1/groups/g")).body).toMatchObject({ policy: { min_ttl_ms: 1000 }, term: 1 });
  let members: unknown = [];
  while (JSON.stringify(members) === "[]")
    members = (await other.get("/v1/groups/g/members")).body["members"];
  expect(members).toMatchObject([{ node_id: "a", role: "leader" }]);
});
