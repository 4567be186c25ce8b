/** A service that stops: every accepted request is answered. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import { MemoryStore, systemClock } from "@tenure/core";
import { boundMs } from "@tenure/engines";
import { afterEach, expect, test } from "vitest";
import { closing } from "../auth/auth.test-kit.js";
import { type Answer, cleanUp, later, serve } from "./service.test-kit.js";

afterEach(cleanUp);

test("waiting campaigns are answered as lost when the server closes", async () => {
  const service = await serve();
  await service.campaign("g", "leader", { lease_ttl_ms: 60_000 });
  const waiting = ["a", "b", "c"].map((node) => service.campaign("g", node, { wait_ms: 60_000 }));
  await service.untilMetric("waiting_campaigns", 3);
  await service.server.close();
  for (const { status, body } of await Promise.all(waiting)) {
    expect([status, body]).toMatchObject([200, { is_leader: false, leader: { node_id: "leader", term: 1 } }]);
  }
});

/** The number of requests that this process has received as a server and not yet answered. */
function countUnanswered(): () => number {
  let count = 0;
  const started = () => count++;
  const finished = () => count--;
  subscribe("http.server.request.start", started);
  subscribe("http.server.response.finish", finished);
  later(() => unsubscribe("http.server.request.start", started));
  later(() => unsubscribe("http.server.response.finish", finished));
  return () => count;
}

test("under load every accepted request is answered, and the server closes within ten seconds", async () => {
  const unanswered = countUnanswered();
  const store = closing(new MemoryStore());
  const service = await serve({}, { store });
  const answers: Answer[] = [];
  let underWay = (): void => {};
  const isUnderWay = new Promise<void>((resolve) => {
    underWay = resolve;
  });
  const client = async (index: number): Promise<void> => {
    for (;;) {
      const group = `g${index % 7}`;
      const answer = await (index % 3 === 0 ? service.leader(group) : service.campaign(group, `n${index}`));
      answers.push(answer);
      if (answers.length > 500) underWay();
      if (answer.status === 503) return;
    }
  };
  // Finally a connection is refused, or closed before anything was sent over it.
  const clients = Promise.allSettled(Array.from({ length: 40 }, (_, index) => client(index)));
  const waiting = Array.from({ length: 20 }, (_, index) =>
    service.campaign("g1", `w${index}`, { wait_ms: 60_000 }),
  );
  await isUnderWay;
  await service.untilMetric("waiting_campaigns", 20);
  const startedMs = systemClock.monotonicMs();
  await service.server.close();
  expect(systemClock.monotonicMs() - startedMs).toBeLessThan(boundMs(10_000));
  expect(unanswered()).toBe(0);
  await clients;
  for (const { status, body } of answers) {
    if (status !== 200)
      expect([status, body]).toMatchObject([503, { ok: false, error: "BACKEND_UNAVAILABLE" }]);
  }
  for (const { body } of await Promise.all(waiting)) expect(body).toMatchObject({ is_leader: false });
  // Terms won before are still there for the next reader.
  const next = await serve({}, { store });
  expect((await next.leader("g1")).body).toMatchObject({ leader: { term: 1 } });
});

test("a connection without a request does not delay the close of the server", async () => {
  const service = await serve();
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  await service.get("/healthz");
  const startedMs = systemClock.monotonicMs();
  await Promise.all([service.server.close(), once(socket.resume(), "close")]);
  expect(systemClock.monotonicMs() - startedMs).toBeLessThan(boundMs(5000));
});

test("closing the server twice closes it once", async () => {
  const service = await serve();
  await service.get("/healthz");
  await Promise.all([service.server.close(), service.server.close()]);
  await service.server.close();
});
