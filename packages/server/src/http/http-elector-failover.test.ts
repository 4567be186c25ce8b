/** The client's elector when servers, connections or answers are lost. */
import { BackendUnavailableError, ClosedError, systemClock } from "@tenure/core";
import { boundMs, freePorts } from "@tenure/engines";
import { afterEach, expect, test } from "vitest";
import { candidate, elector, proxied, recordRequests } from "./http-elector.test-kit.js";
import { cleanUp, faulty, memory, serve } from "./service.test-kit.js";

afterEach(cleanUp);

/** Two servers over one store, the first behind a relay. */
async function two() {
  const store = memory();
  const [one, other] = [await serve({}, { store }), await serve({}, { store })];
  const { url, proxy } = await proxied(one.url);
  return { one, other, proxy, urls: [url, other.url] };
}

async function refusedUrl(): Promise<string> {
  const [port] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}

test("calls continue at the other server when one is cut off", async () => {
  const { proxy, urls } = await two();
  const client = await elector(urls);
  const groups = Array.from({ length: 20 }, (_, index) => `g${index}`);
  for (const group of groups) await client.campaign(candidate(group, "a"));
  let renewals = 0;
  const renewing = groups.map(async (groupId) => {
    for (let i = 0; i < 20; i++) {
      const result = await client.renew({ groupId, nodeId: "a", term: 1, ttlMs: 20_000 });
      expect(result.kind).toBe("renewed");
      if (++renewals === 100) proxy.cut();
    }
  });
  await Promise.all(renewing);
  expect(renewals).toBe(400);
});

test("calls to a server that stops are repeated at the other server", async () => {
  const store = memory();
  const [one, other] = [await serve({}, { store }), await serve({}, { store })];
  const client = await elector([one.url, other.url]);
  await client.campaign(candidate("g", "a"));
  let stopped = Promise.resolve();
  for (let i = 0; i < 60; i++) {
    if (i === 20) stopped = one.server.close();
    const result = await client.renew({ groupId: "g", nodeId: "a", term: 1, ttlMs: 20_000 });
    expect(result.kind).toBe("renewed");
  }
  await stopped;
});

test("a campaign whose answer was lost is repeated at another server and keeps its term", async () => {
  const { one, proxy, urls } = await two();
  const client = await elector(urls, { requestTimeoutMs: 1000 });
  await client.leader("g");
  proxy.loseAnswers();
  const requests = recordRequests();
  const result = await client.campaign(candidate("g", "a", { metadata: { zone: "z" } }));
  expect(result).toMatchObject({
    kind: "elected",
    confirmed: true,
    leader: { term: 1, metadata: { zone: "z" } },
  });
  expect(requests).toEqual(["POST /v1/groups/g/campaign", "POST /v1/groups/g/campaign"]);
  // The first server is remembered as bad.
  expect(await client.resign({ groupId: "g", nodeId: "a", term: 1 })).toEqual({ kind: "resigned" });
  expect(requests).toHaveLength(3);
  expect((await one.leader("g")).body).toMatchObject({ leader: null, term: 1 });
});

test("a resign whose answer was lost is answered as resigned", async () => {
  const { proxy, urls } = await two();
  const client = await elector(urls, { requestTimeoutMs: 1000 });
  await client.campaign(candidate("g", "a"));
  proxy.loseAnswers();
  expect(await client.resign({ groupId: "g", nodeId: "a", term: 1 })).toEqual({ kind: "resigned" });
  expect(await client.leader("g")).toMatchObject({ leader: null, term: 1 });
});

test("an operator action whose answer was lost is not sent again", async () => {
  const { other, proxy, urls } = await two();
  const client = await elector(urls, { requestTimeoutMs: 500 });
  proxy.loseAnswers();
  const requests = recordRequests();
  await expect(client.createGroup({ groupId: "g" })).rejects.toThrow(BackendUnavailableError);
  expect(requests).toEqual(["POST /v1/groups"]);
  expect((await other.get("/v1/groups/g")).body).toMatchObject({ explicit: true });
});

test("an operator action that cannot have been sent goes to the next server", async () => {
  const { other } = await two();
  const client = await elector([await refusedUrl(), other.url]);
  await expect(client.createGroup({ groupId: "g" })).resolves.toMatchObject({ explicit: true });
});

test("if no server answers, the error says what happened at each of them", async () => {
  const service = await serve();
  const { url, proxy } = await proxied(service.url);
  const refused = await refusedUrl();
  const client = await elector([url, refused], { requestTimeoutMs: 400 });
  await client.leader("g");
  proxy.loseAnswers();
  const error = (await client.leader("g").catch((reason: unknown) => reason)) as Error;
  expect(error).toBeInstanceOf(BackendUnavailableError);
  const { errors } = error.cause as AggregateError;
  expect(errors.map((each: Error) => each.message)).toEqual([
    expect.stringContaining(`${url}: no answer within`),
    expect.stringContaining(`${refused}: `),
  ]);
  expect(error.message).toContain("ECONNREFUSED");
});

test("a server without its store is left for one that has it", async () => {
  const { store, goOut } = faulty();
  const [one, other] = [await serve({}, { store }), await serve()];
  const client = await elector([one.url, other.url], { requestTimeoutMs: 20_000 });
  await client.leader("g");
  goOut();
  expect(await client.leader("g")).toMatchObject({ leader: null });
  await client.ping();
});

test("a renewal that is not answered fails within a third of its ttl", async () => {
  const service = await serve();
  const { url, proxy } = await proxied(service.url);
  for (const batch of [true, false]) {
    const client = await elector([url], { batch });
    await client.campaign(candidate(`g-${batch}`, "a"));
    proxy.loseAnswers();
    const startedMs = systemClock.monotonicMs();
    const renewal = client.renew({ groupId: `g-${batch}`, nodeId: "a", term: 1, ttlMs: 1500 });
    await expect(renewal).rejects.toThrow(BackendUnavailableError);
    const tookMs = systemClock.monotonicMs() - startedMs;
    expect(tookMs).toBeGreaterThanOrEqual(490);
    expect(tookMs).toBeLessThan(boundMs(1500));
    proxy.mend();
  }
});

test("a waiting campaign continues at the other server for the rest of its wait", async () => {
  const { one, other, proxy, urls } = await two();
  await other.campaign("g", "leader", { lease_ttl_ms: 60_000 });
  const client = await elector(urls);
  const startedMs = systemClock.monotonicMs();
  const waiting = client.campaign(candidate("g", "b", { waitMs: 60_000 }));
  await one.untilMetric("waiting_campaigns", 1);
  const cutAfterMs = systemClock.monotonicMs() - startedMs;
  proxy.cut();
  await other.untilMetric("waiting_campaigns", 1);
  await one.untilMetric("waiting_campaigns", 0);
  await other.resign("g", "leader", 1);
  const result = await waiting;
  const tookMs = systemClock.monotonicMs() - startedMs;
  if (result.kind !== "elected") throw new Error("it was not elected");
  expect(result.leader.term).toBe(2);
  // Both waits count: the caller counts from before the first.
  expect(result.waitedMs).toBeGreaterThanOrEqual(Math.floor(cutAfterMs));
  expect(result.waitedMs).toBeLessThanOrEqual(tookMs);
});

test("an aborted wait closes its connection and leaves the queue", async () => {
  const service = await serve();
  await service.campaign("g", "leader", { lease_ttl_ms: 60_000 });
  const client = await elector([service.url]);
  const controller = new AbortController();
  const waiting = client.campaign(candidate("g", "b", { waitMs: 60_000 }), { signal: controller.signal });
  await service.untilMetric("waiting_campaigns", 1);
  const reason = new Error("not wanted any more");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await service.untilMetric("waiting_campaigns", 0);
});

test("closing the elector ends a waiting campaign as lost, with the leader", async () => {
  const service = await serve();
  await service.campaign("g", "leader", { lease_ttl_ms: 60_000 });
  const client = await elector([service.url]);
  const waiting = client.campaign(candidate("g", "b", { waitMs: 60_000 }));
  await service.untilMetric("waiting_campaigns", 1);
  await client.close();
  expect(await waiting).toMatchObject({ kind: "lost", leader: { nodeId: "leader", term: 1 } });
  await service.untilMetric("waiting_campaigns", 0);
});

test("after a restart of its only server the elector works again, over connections it had kept", async () => {
  const store = memory();
  const [port] = await freePorts(1);
  const listen = `127.0.0.1:${port}`;
  const first = await serve({ listen }, { store });
  const client = await elector([first.url]);
  await Promise.all(Array.from({ length: 5 }, () => client.leader("g")));
  await first.server.close();
  await expect(client.leader("g")).rejects.toThrow(BackendUnavailableError);
  await serve({ listen }, { store });
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
});

test("a transfer in progress does not delay the close of the elector", async () => {
  const service = await serve();
  const client = await elector([service.url]);
  await client.campaign(candidate("g", "a", { ttlMs: 60_000 }));
  const transfer = client.transfer({ groupId: "g", toNodeId: "b", by: "operator", timeoutMs: 60_000 });
  const refusal = transfer.catch((error: unknown) => error);
  await client.leader("g");
  await client.close();
  expect(await refusal).toBeInstanceOf(ClosedError);
});
