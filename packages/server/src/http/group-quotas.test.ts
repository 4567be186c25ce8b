/** How many groups a node, and all nodes together, may found. */
import { HttpElector } from "@tenure/client";
import { TooManyGroupsError } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { ADMIN_TOKEN, type Answer, cleanUp, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

function expectTooMany({ status, body }: Answer, option: string): void {
  expect([status, body["error"]]).toEqual([429, "TOO_MANY_GROUPS"]);
  expect(body["message"]).toContain(option);
}

test("a node is refused groups above --max-groups-per-node, alone, in a batch and waiting, and other nodes are not", async () => {
  const { service, bearer } = await serveKnown({ maxGroupsPerNode: 2 });
  const token = await bearer({ sub: "a", groups: ["*"] });
  const node = service.as(token);
  for (const groupId of ["g1", "g2"]) {
    expect((await node.campaign(groupId, "a")).body).toMatchObject({ is_leader: true });
  }
  expectTooMany(await node.campaign("g3", "a"), "--max-groups-per-node");
  expectTooMany(await node.campaign("g3", "a", { wait_ms: 1000 }), "--max-groups-per-node");
  const campaigns = ["g1", "g3"].map((group_id) => ({ group_id, node_id: "a", lease_ttl_ms: 5000 }));
  expect((await node.post("/v1/campaign", { campaigns })).body).toMatchObject({
    results: [{ is_leader: true }, { ok: false, error: "TOO_MANY_GROUPS" }],
  });
  const elector = await HttpElector.open({ endpoints: [service.url], token });
  await expect(elector.campaign({ groupId: "g3", nodeId: "a", ttlMs: 5000 })).rejects.toBeInstanceOf(
    TooManyGroupsError,
  );
  await elector.close();
  const other = service.as(await bearer({ sub: "b", groups: ["*"] }));
  expect((await other.campaign("g3", "b")).body).toMatchObject({ is_leader: true });
});

test("an admin can still create groups when nodes have used up --max-groups", async () => {
  const { service, bearer } = await serveKnown({ maxGroups: 3 });
  const node = service.as(await bearer({ sub: "a", groups: ["*"] }));
  const admin = service.as(ADMIN_TOKEN);
  for (const groupId of ["g1", "g2"]) expect((await node.campaign(groupId, "a")).status).toBe(200);
  expectTooMany(await node.campaign("g3", "a"), "--max-groups");
  expect((await admin.post("/v1/groups", { group_id: "g3" })).status).toBe(201);
  expectTooMany(await admin.post("/v1/groups", { group_id: "g4" }), "--max-groups");
  expect((await admin.ask("DELETE", "/v1/groups/g1?force=true")).status).toBe(200);
  expect((await admin.post("/v1/groups", { group_id: "g4" })).status).toBe(201);
});

test("a heartbeat to a group that does not exist is GROUP_NOT_FOUND", async () => {
  const service = await serve();
  const answer = await service.post("/v1/groups/never/heartbeat", { node_id: "a" });
  expect([answer.status, answer.body["error"]]).toEqual([404, "GROUP_NOT_FOUND"]);
});
