/** Watches of several groups over one connection. */
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, expect, test } from "vitest";
import {
  ADMIN_TOKEN,
  type Answer,
  cleanUp,
  type Client,
  faulty,
  later,
  serve,
  serveKnown,
  type Stream,
} from "./service.test-kit.js";

afterEach(cleanUp);

const STREAM = { headers: { accept: "text/event-stream" } };

const ask = (client: Client, body: unknown): Promise<Answer> => client.post("/v1/watch", body, STREAM);

/** Two events a round: won, resigned. */
async function change(client: Client, group: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const { body } = await client.campaign(group, "a");
    await client.resign(group, "a", (body["leader"] as { term: number }).term);
  }
}

async function take(stream: Stream, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) {
    const { data } = await stream.event();
    taken.push(`${String(data["group_id"])} ${String(data["type"])} ${String(data["number"])}`);
  }
  return taken;
}

test("a watch of many groups streams the state of each group, then the events of all, each with its cursor", async () => {
  const service = await serve();
  await service.campaign("y", "n1");
  const stream = await service.streamMany([{ group_id: "x" }, { group_id: "y" }]);
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  const states = [await stream.event(), await stream.event()];
  expect(states).toMatchObject([
    {
      data: { type: "LEADER_LOST", group_id: "x", term: 0, leader_node_id: null, reason: "none", number: 0 },
    },
    { data: { type: "LEADER_CHANGED", group_id: "y", term: 1, leader_node_id: "n1", number: 1 } },
  ]);
  // There is no cursor for all of them.
  expect(states.map(({ id }) => id)).toEqual([undefined, undefined]);
  await service.campaign("x", "n2");
  await service.resign("y", "n1", 1);
  await service.campaign("z", "n1");
  expect((await take(stream, 2)).toSorted()).toEqual(["x LEADER_CHANGED 1", "y LEADER_LOST 2"]);
});

test("each group of a stream resumes from its own cursor, and gets its own RESYNC if the cursor is too old", async () => {
  const service = await serve();
  await change(service, "a", 3);
  await change(service, "b", 40);
  await change(service, "c", 1);
  const stream = await service.streamMany([
    { group_id: "a", cursor: 4 },
    { group_id: "b", cursor: 1 },
    { group_id: "c", cursor: 2 },
    { group_id: "d", cursor: 7 },
  ]);
  expect((await take(stream, 4)).toSorted()).toEqual([
    "a LEADER_CHANGED 5",
    "a LEADER_LOST 6",
    "b RESYNC 80",
    "d RESYNC 0",
  ]);
  await change(service, "c", 1);
  expect(await take(stream, 2)).toEqual(["c LEADER_CHANGED 3", "c LEADER_LOST 4"]);
});

test("a watch request of a thousand groups is accepted, and of more refused", async () => {
  const service = await serve();
  const watches = Array.from({ length: 1000 }, (_, index) => ({ group_id: `${"g".repeat(190)}${index}` }));
  const stream = await service.streamMany(watches);
  expect(new Set(await take(stream, 1000)).size).toBe(1000);
  expect(await service.metric("open_watches")).toBe(1000);
  stream.close();
  await service.untilMetric("open_watches", 0);
  const tooMany = await ask(service, { watches: [...watches, { group_id: "one-more" }] });
  expect([tooMany.status, tooMany.body["error"]]).toEqual([400, "INVALID_REQUEST"]);
  const tooLarge = await ask(service, { watches: [{ group_id: "g".repeat(1024 * 1024) }] });
  expect([tooLarge.status, tooLarge.body["error"]]).toEqual([413, "BODY_TOO_LARGE"]);
});

test("a watch of many groups is refused if its body is empty, repeats a group or does not ask for a stream", async () => {
  const service = await serve();
  for (const body of [
    {},
    { watches: [] },
    { watches: [{ group_id: "g" }, { group_id: "g", cursor: 1 }] },
    { watches: [{ group_id: "g", cursor: "1" }] },
    { watches: [{ group_id: "g", cursor: -1 }] },
    { watches: [{ group_id: "g", more: 1 }] },
  ]) {
    const { status, body: reply } = await ask(service, body);
    expect([status, reply["error"]]).toEqual([400, "INVALID_REQUEST"]);
  }
  const plain = await service.post("/v1/watch", { watches: [{ group_id: "g" }] });
  expect(plain).toMatchObject({ status: 400, body: { error: "INVALID_REQUEST", field: "accept" } });
  expect(await service.metric("open_watches")).toBe(0);
});

test("a group that the caller may not see, or that does not exist, is refused on its own", async () => {
  const { service, bearer } = await serveKnown({ explicitGroups: true });
  const admin = service.as(ADMIN_TOKEN);
  for (const group of ["mine", "theirs"]) await admin.post("/v1/groups", { group_id: group });
  const node = service.as(await bearer({ sub: "n", role: "node", groups: ["mine", "none"] }));
  const stream = await node.streamMany([{ group_id: "theirs" }, { group_id: "none" }, { group_id: "mine" }]);
  const told = [await stream.event(), await stream.event(), await stream.event()].map(({ data }) => data);
  expect(told.find(({ group_id }) => group_id === "theirs")).toMatchObject({
    ok: false,
    error: "UNAUTHORIZED",
  });
  expect(told.find(({ group_id }) => group_id === "none")).toMatchObject({ error: "GROUP_NOT_FOUND" });
  await node.campaign("mine", "n");
  expect(await take(stream, 1)).toEqual(["mine LEADER_CHANGED 1"]);
  expect(await admin.metric("open_watches")).toBe(1);
  const nobody = await ask(service, { watches: [{ group_id: "mine" }] });
  expect([nobody.status, nobody.body["error"]]).toEqual([401, "UNAUTHENTICATED"]);
});

test("each group of a watch counts towards the limit, above which the request is refused as a whole", async () => {
  const service = await serve({ maxWatches: 4 });
  const three = [{ group_id: "a" }, { group_id: "b" }, { group_id: "c" }];
  const stream = await service.streamMany(three);
  await stream.event();
  const refused = await ask(service, { watches: [{ group_id: "a" }, { group_id: "b" }] });
  expect([refused.status, refused.body["error"], refused.headers.get("retry-after")]).toEqual([
    429,
    "TOO_MANY_WAITING",
    "1",
  ]);
  expect(await service.metric("open_watches")).toBe(3);
  stream.close();
  await service.untilMetric("open_watches", 0);
  await (await service.streamMany(three)).event();
});

test("a watch of many groups is refused if the store does not answer", async () => {
  const { store, goOut } = faulty();
  const service = await serve({}, { store });
  await service.leader("a");
  goOut();
  const refused = await ask(service, { watches: [{ group_id: "a", cursor: 0 }, { group_id: "b" }] });
  expect([refused.status, refused.body["error"]]).toEqual([503, "BACKEND_UNAVAILABLE"]);
});

test("comments keep a stream of many groups alive, and a stopping server says when to reconnect", async () => {
  const clock = new VirtualClock();
  const service = await serve({}, { clock: clock.process() });
  const stream = await service.streamMany([{ group_id: "a" }, { group_id: "b" }]);
  await take(stream, 2);
  const comment = stream.next();
  await clock.advance(15_000);
  expect(await comment).toEqual({ comment: true });
  const closed = service.server.close();
  expect(await stream.next()).toEqual({ retry: "1000" });
  expect(await stream.next()).toBeNull();
  await clock.advance(10_000);
  await closed;
});

test("a client that does not read its stream of many groups does not delay others, and is ended", async () => {
  const service = await serve();
  const body = JSON.stringify({
    watches: [
      { group_id: "busy", cursor: 0 },
      { group_id: "calm", cursor: 0 },
    ],
  });
  const request = httpRequest(`${service.url}/v1/watch`, {
    method: "POST",
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  });
  later(() => request.destroy());
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.pause();
  await change(service, "busy", 50);
  await change(service, "calm", 1);
  expect((await service.get("/v1/groups/busy/watch?cursor=99")).body).toMatchObject({ cursor: "100" });
  await service.server.close();
});
