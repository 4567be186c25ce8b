/** `GET /v1/samples` of a real service, in virtual time. */
import type { shapes } from "@tenure/api";
import { VirtualClock } from "@tenure/core/testing";
import { credentials } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { ADMIN_TOKEN, cleanUp, type Client, serve, serveKnown } from "../http/service.test-kit.js";

afterEach(cleanUp);

async function samples(client: Client, query = ""): Promise<shapes.SamplesReply> {
  return (await client.get(`/v1/samples${query}`)).body as unknown as shapes.SamplesReply;
}

async function last(client: Client): Promise<shapes.Sample> {
  return (await samples(client)).samples.at(-1) as shapes.Sample;
}

async function start() {
  const clock = new VirtualClock();
  const service = await serve({ grpc: "127.0.0.1:0" }, { clock });
  return { clock, service };
}

test("a sample counts every renewed lease, also those within batches, over HTTP and gRPC", async () => {
  const { clock, service } = await start();
  const renewals = ["a", "b", "c"].map((group_id) => ({
    group_id,
    node_id: "n",
    term: 1,
    extend_by_ms: 60_000,
  }));
  for (const { group_id } of renewals) await service.campaign(group_id, "n", { lease_ttl_ms: 60_000 });
  await clock.advance(5000);
  expect((await last(service)).renewals_per_s).toBe(0);

  await service.renew("a", "n", 1);
  await service.post("/v1/renew", { renewals });
  const grpc = new GrpcClient(service.server.grpcAddress ?? "", credentials.createInsecure());
  await grpc.ask("Election/RenewMany", { renewals });
  await grpc.ask("Election/Renew", renewals[0] ?? {});
  // Refused renewals keep no lease.
  await service.renew("a", "n", 7);
  await service.post("/v1/renew", { renewals: [{ ...renewals[0], term: 9 }] });
  await clock.advance(5000);
  const sample = await last(service);
  expect(sample.renewals_per_s).toBe(8 / 5);
  // Six requests, and the one that read the sample before them.
  expect(sample.requests_per_s).toBe(7 / 5);
  expect(sample.request_p50_ms).toBeGreaterThan(0);
  expect(sample.request_p99_ms).toBeGreaterThanOrEqual(sample.request_p50_ms as number);
});

test("a sample counts led and vacant groups, waiting campaigns and open watches", async () => {
  const { clock, service } = await start();
  for (const group of ["a", "b", "gone"]) await service.campaign(group, "n", { lease_ttl_ms: 60_000 });
  await service.campaign("lost", "n", { lease_ttl_ms: 1000 });
  await service.post("/v1/groups", { group_id: "never-led" });
  await service.resign("b", "n", 1);
  await service.ask("DELETE", "/v1/groups/gone?force=true");
  await service.stream("/v1/groups/a/watch");
  const waiting = service.campaign("a", "m", { wait_ms: 30_000 });
  await service.untilMetric("waiting_campaigns", 1);
  await clock.advance(5000);
  // A group that no node ever led, and one whose leader resigned, lack nothing.
  expect(await last(service)).toMatchObject({ led: 1, vacant: 1, watches: 1, waiting: 1 });
  await clock.advance(30_000);
  await waiting;
});

test("campaigns, transfers and watches count as requests but not as latencies of a sample", async () => {
  const { clock, service } = await start();
  await clock.advance(5000);
  await service.campaign("g", "n", { lease_ttl_ms: 60_000 });
  await service.get("/v1/groups/g/watch");
  await clock.advance(5000);
  expect(await last(service)).toMatchObject({
    requests_per_s: 2 / 5,
    request_p50_ms: null,
    request_p99_ms: null,
  });
});

test("samples count the leader changes of the last minute, and the failovers of their own interval", async () => {
  const { clock, service } = await start();
  await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
  await service.untilMetric('leader_changes_total{group_id="g"}', 1);
  await clock.advance(5000);
  // The first leader of a group replaces nobody.
  expect(await last(service)).toMatchObject({ leader_changes_per_min: 1, failover_p50_ms: null });
  await service.resign("g", "a", 1);
  await clock.advance(700);
  await service.campaign("g", "b", { lease_ttl_ms: 60_000 });
  await service.untilMetric('leader_changes_total{group_id="g"}', 2);
  await clock.advance(4300);
  expect(await last(service)).toMatchObject({
    leader_changes_per_min: 2,
    failover_p50_ms: 700,
    failover_max_ms: 700,
  });
  await clock.advance(5000);
  expect(await last(service)).toMatchObject({ leader_changes_per_min: 2, failover_max_ms: null });
  await clock.advance(50_000);
  expect(await last(service)).toMatchObject({ leader_changes_per_min: 1 });
  await clock.advance(5000);
  expect(await last(service)).toMatchObject({ leader_changes_per_min: 0 });
});

test("the failover time of a sample begins with the last renewal of a leader that crashed", async () => {
  const { clock, service } = await start();
  await service.campaign("g", "a", { lease_ttl_ms: 2000 });
  await clock.advance(600);
  await service.renew("g", "a", 1, { extend_by_ms: 2000 });
  // From here on nothing is heard from a.
  const won = service.campaign("g", "b", { lease_ttl_ms: 60_000, wait_ms: 10_000 });
  await service.untilMetric("waiting_campaigns", 1);
  await clock.advance(4400);
  expect((await won).body).toMatchObject({ is_leader: true });
  const { events } = (await service.get("/v1/groups/g/history")).body as unknown as {
    readonly events: readonly {
      readonly type: string;
      readonly ts_ms: number;
      readonly silent_ms?: number;
    }[];
  };
  const [, lost, changed] = events;
  const failoverMs = (changed?.ts_ms ?? 0) - (lost?.ts_ms ?? 0) + (lost?.silent_ms ?? 0);
  expect(failoverMs).toBeGreaterThanOrEqual(2000);
  expect(await last(service)).toMatchObject({
    failover_p50_ms: failoverMs,
    failover_max_ms: failoverMs,
    leader_changes_per_min: 2,
  });
});

test("a server keeps the samples of an hour, and returns those after since_ms", async () => {
  const { clock, service } = await start();
  const startedAtMs = clock.wallMs();
  expect(await samples(service)).toEqual({ interval_ms: 5000, samples: [] });
  await clock.advance(3_600_000 + 50_000);
  const all = (await samples(service)).samples.map(({ ts_ms }) => ts_ms);
  expect(all).toHaveLength(720);
  expect(all).toEqual(Array.from({ length: 720 }, (_, index) => startedAtMs + 50_000 + (index + 1) * 5000));
  const since = all.at(-3) as number;
  expect((await samples(service, `?since_ms=${since}`)).samples.map(({ ts_ms }) => ts_ms)).toEqual(
    all.slice(-2),
  );
  const { memory_bytes, event_loop_ms } = await last(service);
  expect(memory_bytes).toBeGreaterThan(1e6);
  expect(event_loop_ms).toBeGreaterThanOrEqual(0);
});

test("samples are for callers that may see all groups", async () => {
  const { service, bearer } = await serveKnown();
  const narrow = await bearer({ sub: "olivia", role: "observer", groups: ["team/*"] });
  expect(await service.as(narrow).get("/v1/samples")).toMatchObject({
    status: 403,
    body: { message: "olivia may see only some groups, and samples count all groups" },
  });
  const wide = await bearer({ sub: "olivia", role: "observer", groups: ["*"] });
  expect((await service.as(ADMIN_TOKEN).get("/v1/samples")).status).toBe(200);
  expect((await service.as(wide).get("/v1/samples")).status).toBe(200);
  expect((await service.get("/v1/samples")).status).toBe(401);
});
