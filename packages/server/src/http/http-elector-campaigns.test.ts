/** How the client's elector sends campaigns that do not wait. */
import { GroupNotFoundError, InvalidTtlError } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { candidate, elector, recordRequests } from "./http-elector.test-kit.js";
import { cleanUp, serve } from "./service.test-kit.js";

afterEach(cleanUp);

const names = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`);

test("campaigns sent together are one request, and each gets its own answer", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await service.campaign("taken", "b", { metadata: { zone: "z" } });
  const requests = recordRequests();
  const groups = names(50);
  const results = await Promise.all([
    ...groups.map((group) => client.campaign(candidate(group, "a", { metadata: { group } }))),
    client.campaign(candidate("taken", "a")),
    client.campaign(candidate("g50", "a", { ttlMs: 30_000_000 })).catch((error: unknown) => error),
  ]);
  expect(requests).toEqual(["POST /v1/campaign"]);
  for (const [index, group] of groups.entries()) {
    expect(results[index]).toEqual({
      kind: "elected",
      confirmed: false,
      leader: { nodeId: "a", term: 1, expiresAtMs: expect.any(Number) as number, metadata: { group } },
    });
  }
  expect(results[50]).toMatchObject({ kind: "lost", leader: { nodeId: "b", metadata: { zone: "z" } } });
  expect(results[51]).toBeInstanceOf(InvalidTtlError);
});

test("a single campaign, a waiting one and a second one of the same group are separate requests", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const requests = recordRequests();
  await client.campaign(candidate("g", "a"));
  const again = await Promise.all([
    client.campaign(candidate("g", "a")),
    client.campaign(candidate("g", "a")),
    client.campaign(candidate("h", "a", { waitMs: 10 })),
  ]);
  expect(again.map(({ kind }) => kind)).toEqual(["elected", "elected", "elected"]);
  const single = "POST /v1/groups/g/campaign";
  expect(requests.toSorted()).toEqual([single, single, single, "POST /v1/groups/h/campaign"]);
});

test("a caller that aborts does not affect the others, and its win is left for it to resign", async () => {
  const service = await serve();
  const client = await elector([service.url], { batchWindowMs: 0 });
  const leaving = new AbortController();
  const reason = new Error("gone");
  const requests = recordRequests();
  const left = client.campaign(candidate("left", "a"), { signal: leaving.signal });
  const stays = ["g1", "g2"].map((group) => client.campaign(candidate(group, "a")));
  while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort(reason);
  await expect(left).rejects.toBe(reason);
  expect((await Promise.all(stays)).map(({ kind }) => kind)).toEqual(["elected", "elected"]);
  const { leader } = await client.leader("left");
  expect(leader).toMatchObject({ nodeId: "a", term: 1 });
  const term = leader?.term ?? 0;
  expect(await client.resign({ groupId: "left", nodeId: "a", instanceId: "a-1", term })).toEqual({
    kind: "resigned",
  });
});

test("a request holds as many campaigns as its limits of number and size allow", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const requests = recordRequests();
  const metadata = { text: "ü".repeat(2000) };
  const results = await Promise.all(
    names(600).map((group) => client.campaign(candidate(group, "a", { metadata }))),
  );
  expect(results.every(({ kind }) => kind === "elected")).toBe(true);
  expect(requests).toEqual(Array(3).fill("POST /v1/campaign"));
});

test("without batching each campaign is a separate request, and closing sends the pending ones", async () => {
  const service = await serve();
  const single = await elector([service.url], { batch: false });
  const requests = recordRequests();
  await Promise.all(["g1", "g2"].map((group) => single.campaign(candidate(group, "a"))));
  expect(requests.toSorted()).toEqual(["POST /v1/groups/g1/campaign", "POST /v1/groups/g2/campaign"]);
  const slow = await elector([service.url], { batchWindowMs: 1000 });
  const gathered = ["g3", "g4"].map((group) => slow.campaign(candidate(group, "a")));
  await slow.close();
  expect((await Promise.all(gathered)).map(({ kind }) => kind)).toEqual(["elected", "elected"]);
});

test("a refused campaign of a batch rejects with its own error class", async () => {
  const service = await serve({ explicitGroups: true });
  await service.post("/v1/groups", { group_id: "there" });
  const client = await elector([service.url]);
  const missing = client.campaign(candidate("none", "a"));
  const found = client.campaign(candidate("there", "a"));
  await expect(missing).rejects.toThrow(GroupNotFoundError);
  expect((await found).kind).toBe("elected");
});
