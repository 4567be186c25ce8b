/** How the client's elector sends renewals. */
import { GroupNotFoundError, InvalidTtlError } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { candidate, elector, recordRequests } from "./http-elector.test-kit.js";
import { cleanUp, serve } from "./service.test-kit.js";

afterEach(cleanUp);

const renewal = (groupId: string, ttlMs = 20_000) => ({ groupId, nodeId: "a", term: 1, ttlMs });

test("renewals sent together are one request, and each gets its own answer", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const groups = Array.from({ length: 50 }, (_, index) => `g${index}`);
  await Promise.all(
    [...groups, "g50"].map((group) => client.campaign(candidate(group, "a", { metadata: { group } }))),
  );
  const requests = recordRequests();
  const results = await Promise.all([
    ...groups.map((group) => client.renew(renewal(group))),
    client.renew({ ...renewal("unknown"), nodeId: "b" }),
    client.renew(renewal("g50", 30_000_000)).catch((error: unknown) => error),
  ]);
  expect(requests).toEqual(["POST /v1/renew"]);
  for (const [index, group] of groups.entries()) {
    const expected = { kind: "renewed", leader: { nodeId: "a", metadata: { group } } };
    expect(results[index]).toMatchObject(expected);
  }
  expect(results[50]).toEqual({ kind: "not-leader", currentLeader: null });
  expect(results[51]).toBeInstanceOf(InvalidTtlError);
});

test("two renewals of one group are two requests, and both are answered", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await client.campaign(candidate("g", "a"));
  const requests = recordRequests();
  const results = await Promise.all([client.renew(renewal("g")), client.renew(renewal("g"))]);
  expect(results.map(({ kind }) => kind)).toEqual(["renewed", "renewed"]);
  expect(requests).toEqual(["POST /v1/renew", "POST /v1/renew"]);
});

test("a group with a much shorter ttl does not share a request, nor its time limit, with the rest", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  const ttls = { short: 1000, long: 9000, longer: 10_000 };
  const groups = Object.entries(ttls);
  for (const [group, ttlMs] of groups) await client.campaign(candidate(group, "a", { ttlMs }));
  const requests = recordRequests();
  const results = await Promise.all(groups.map(([group, ttlMs]) => client.renew(renewal(group, ttlMs))));
  expect(results.map(({ kind }) => kind)).toEqual(["renewed", "renewed", "renewed"]);
  expect(requests).toHaveLength(2);
});

test("a caller that aborts its renewal does not affect the others", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await client.campaign(candidate("g1", "a"));
  const controller = new AbortController();
  const left = client.renew(renewal("g2"), { signal: controller.signal });
  const stays = client.renew(renewal("g1"));
  const reason = new Error("gone");
  controller.abort(reason);
  await expect(left).rejects.toBe(reason);
  expect((await stays).kind).toBe("renewed");
});

test("without batching each renewal is a separate request", async () => {
  const service = await serve();
  const client = await elector([service.url], { batch: false });
  await client.campaign(candidate("g1", "a"));
  const requests = recordRequests();
  await Promise.all([client.renew(renewal("g1")), client.renew(renewal("g2"))]);
  expect(requests.toSorted()).toEqual(["POST /v1/groups/g1/renew", "POST /v1/groups/g2/renew"]);
});

test("a refused renewal of a batch rejects with its own error class", async () => {
  const service = await serve({ explicitGroups: true });
  for (const batch of [true, false]) {
    const client = await elector([service.url], { batch });
    await expect(client.renew(renewal("none"))).rejects.toThrow(GroupNotFoundError);
    await expect(client.watch("none")[Symbol.asyncIterator]().next()).rejects.toThrow(GroupNotFoundError);
  }
});
