import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import {
  ADMIN_TOKEN,
  type Body,
  cleanUp,
  type Client,
  later,
  serve,
  serveKnown,
} from "./service.test-kit.js";

afterEach(cleanUp);

const anyNumber = expect.any(Number) as number;

/** Two events a round: won, resigned. */
async function change(client: Client, group: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const { body } = await client.campaign(group, "a");
    await client.resign(group, "a", (body["leader"] as { term: number }).term);
  }
}

const types = (body: object) => (body as { events: { type: string }[] }).events.map(({ type }) => type);

describe("a stream of one group", () => {
  test("a stream of one group begins with the state, then delivers each change under its cursor", async () => {
    const service = await serve();
    const stream = await service.stream("/v1/groups/a%2Fb/watch");
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    expect(stream.response.headers.get("x-request-id")).not.toBeNull();
    expect(await stream.event()).toStrictEqual({
      id: "0",
      data: {
        type: "LEADER_LOST",
        group_id: "a/b",
        term: 0,
        leader_node_id: null,
        ts_ms: anyNumber,
        previous_leader_node_id: null,
        reason: "none",
      },
    });
    await service.campaign("a/b", "n1");
    expect(await stream.event()).toMatchObject({
      id: "1",
      data: { type: "LEADER_CHANGED", term: 1, leader_node_id: "n1" },
    });
    await service.resign("a/b", "n1", 1);
    expect(await stream.event()).toMatchObject({
      id: "2",
      data: {
        type: "LEADER_LOST",
        term: 1,
        leader_node_id: null,
        previous_leader_node_id: "n1",
        reason: "resigned",
      },
    });
  });

  test("a stream delivers a handover as both events, in order, from one write", async () => {
    const service = await serve();
    await service.campaign("g", "n1");
    const stream = await service.stream("/v1/groups/g/watch");
    await stream.event();
    const waiting = service.campaign("g", "n2", { wait_ms: 60_000 });
    await service.untilMetric("waiting_campaigns", 1);
    await service.resign("g", "n1", 1);
    const [lost, changed] = [await stream.event(), await stream.event()];
    expect(lost).toMatchObject({ id: "2", data: { type: "LEADER_LOST", term: 1, reason: "resigned" } });
    expect(changed).toMatchObject({
      id: "3",
      data: { type: "LEADER_CHANGED", term: 2, leader_node_id: "n2" },
    });
    expect((await waiting).body).toMatchObject({ is_leader: true });
  });

  test("an event names the operator who made the leader step down", async () => {
    const { service } = await serveKnown();
    const admin = service.as(ADMIN_TOKEN);
    await admin.campaign("g", "n1");
    const stream = await admin.stream("/v1/groups/g/watch?cursor=1");
    await admin.post("/v1/groups/g/step-down", { reason: "maintenance", force: true });
    expect((await stream.event()).data).toMatchObject({
      type: "LEADER_LOST",
      reason: "deposed",
      by: "admin-token",
    });
  });

  test("a stream resumes after Last-Event-ID, which takes precedence over the cursor in the URL", async () => {
    const service = await serve();
    await change(service, "g", 3);
    const stream = await service.stream("/v1/groups/g/watch?cursor=1", { "last-event-id": "4" });
    expect([(await stream.event()).id, (await stream.event()).id]).toEqual(["5", "6"]);
    const other = await service.stream("/v1/groups/g/watch?cursor=5");
    expect((await other.event()).id).toBe("6");
  });

  test("a stream misses nothing within the last 64 events, and beyond that sends the state as one RESYNC", async () => {
    const service = await serve();
    await change(service, "g", 40);
    const kept = await service.stream("/v1/groups/g/watch?cursor=16");
    for (let id = 17; id <= 80; id++) expect((await kept.event()).id).toBe(String(id));
    const past = await service.stream("/v1/groups/g/watch?cursor=15");
    expect(await past.event()).toMatchObject({ id: "80", data: { type: "RESYNC", term: 40 } });
    const ahead = await service.stream("/v1/groups/g/watch?cursor=1000");
    expect(await ahead.event()).toMatchObject({ id: "80", data: { type: "RESYNC" } });
    await change(service, "g", 1);
    for (const stream of [kept, past, ahead]) expect((await stream.event()).id).toBe("81");
  });

  test("a stream sends a comment every 15 seconds", async () => {
    const clock = new VirtualClock();
    const service = await serve({}, { clock: clock.process() });
    const stream = await service.stream("/v1/groups/g/watch");
    await stream.event();
    for (let times = 0; times < 3; times++) {
      await clock.advance(15_000);
      expect(await stream.next()).toEqual({ comment: true });
    }
  });

  test("a stream sends a comment every keep_alive_ms, or somewhat more often", async () => {
    const clock = new VirtualClock();
    const service = await serve({}, { clock: clock.process() });
    const open = (everyMs: number) => service.stream(`/v1/groups/g/watch?keep_alive_ms=${everyMs}`);
    const [twice, once, less] = [await open(500), await open(1000), await open(3999)];
    await Promise.all([twice.event(), once.event(), less.event()]);
    // An event follows each half second: what came before the event came in that half second.
    const commentsUntilEvent = async (stream: typeof twice): Promise<number> => {
      for (let comments = 0; ; comments++) {
        if ((await stream.next())?.comment !== true) return comments;
      }
    };
    for (let halves = 1; halves <= 8; halves++) {
      await clock.advance(500);
      if (halves % 2 === 1) await service.campaign("g", "a");
      else await service.resign("g", "a", halves / 2);
      expect(await Promise.all([twice, once, less].map(commentsUntilEvent))).toEqual([
        1,
        halves % 2 === 0 ? 1 : 0,
        halves % 4 === 0 ? 1 : 0,
      ]);
    }
  });

  test.each(["499", "15001", "-1", "often"])(
    "a stream with keep_alive_ms of %s is refused",
    async (everyMs) => {
      const service = await serve();
      const answer = await service.get(`/v1/groups/g/watch?keep_alive_ms=${everyMs}`);
      expect(answer).toMatchObject({
        status: 400,
        body: { error: "INVALID_REQUEST", field: "keep_alive_ms" },
      });
    },
  );

  test("a stream ends with a retry hint when the server stops", async () => {
    const service = await serve();
    const [one, all] = [await service.stream("/v1/groups/g/watch"), await service.stream("/v1/watch")];
    await one.event();
    const closed = service.server.close();
    expect(await one.next()).toEqual({ retry: "1000" });
    expect([await one.next(), await all.next(), await all.next()]).toEqual([null, { retry: "1000" }, null]);
    await closed;
  });

  test("a stream is over when its reader disconnects", async () => {
    const service = await serve();
    const stream = await service.stream("/v1/groups/g/watch");
    await stream.event();
    expect(await service.metric("open_watches")).toBe(1);
    stream.close();
    await service.untilMetric("open_watches", 0);
  });

  test("a stream whose client does not read does not delay others, and is ended", async () => {
    const service = await serve();
    const request = get(`${service.url}/v1/groups/g/watch`, { headers: { accept: "text/event-stream" } });
    later(() => request.destroy());
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.pause();
    await change(service, "g", 50);
    expect((await service.get("/v1/groups/g/watch?cursor=99")).body).toMatchObject({ cursor: "100" });
    await service.server.close();
  });
});

describe("a long poll", () => {
  test("a long poll answers at once with the events since its cursor", async () => {
    const service = await serve();
    await change(service, "g", 2);
    const { body } = await service.get("/v1/groups/g/watch?cursor=1");
    expect(types(body)).toEqual(["LEADER_LOST", "LEADER_CHANGED", "LEADER_LOST"]);
    expect(body["cursor"]).toBe("4");
  });

  test("a long poll waits for the next event", async () => {
    const service = await serve();
    const { body } = await service.get("/v1/groups/g/watch?timeout_ms=0");
    expect(body).toMatchObject({ events: [{ type: "LEADER_LOST", reason: "none" }], cursor: "0" });
    const next = service.get("/v1/groups/g/watch?cursor=0");
    await service.untilMetric("open_watches", 1);
    await service.campaign("g", "a");
    expect((await next).body).toMatchObject({ events: [{ type: "LEADER_CHANGED", term: 1 }], cursor: "1" });
  });

  test("a long poll answers without events at the end of its time, 30 seconds by default", async () => {
    const clock = new VirtualClock();
    const service = await serve({}, { clock: clock.process() });
    await service.campaign("g", "a", { lease_ttl_ms: 60_000 });
    for (const [query, ms] of [
      ["", 30_000],
      ["&timeout_ms=200", 200],
    ] as const) {
      let done = false;
      const poll = service.get(`/v1/groups/g/watch?cursor=1${query}`).finally(() => {
        done = true;
      });
      await service.untilMetric("open_watches", 1);
      await clock.advance(ms - 1);
      expect(done).toBe(false);
      await clock.advance(1);
      expect((await poll).body).toEqual({ events: [], cursor: "1" });
    }
  });

  test("a long poll is answered when the server stops", async () => {
    const service = await serve();
    await service.campaign("g", "a");
    const polls = [service.get("/v1/groups/g/watch?cursor=1"), service.get("/v1/watch?cursor=9999")];
    await service.untilMetric("open_watches", 1);
    await service.server.close();
    expect((await polls[0])?.body).toEqual({ events: [], cursor: "1" });
    expect((await polls[1])?.body).toMatchObject({ events: [{ type: "RESYNC", group_id: "g" }] });
  });
});

describe("a watch over all groups", () => {
  test("a watch of all groups begins with the state of each led group, then delivers every event, and can be resumed", async () => {
    const service = await serve();
    await change(service, "vacant", 1);
    for (const group of ["x", "y", "z"]) await service.campaign(group, "a");
    const stream = await service.stream("/v1/watch");
    const states = [await stream.event(), await stream.event(), await stream.event()];
    expect(states.map(({ data }) => [data["type"], data["group_id"]])).toEqual([
      ["LEADER_CHANGED", "x"],
      ["LEADER_CHANGED", "y"],
      ["LEADER_CHANGED", "z"],
    ]);
    // A reader that is cut off between the states must not resume after all of them.
    expect(states.map(({ id }) => typeof id)).toEqual(["undefined", "undefined", "string"]);
    await service.resign("y", "a", 1);
    const resigned = await stream.event();
    expect(resigned.data).toMatchObject({ type: "LEADER_LOST", group_id: "y" });
    await service.campaign("new", "a");
    expect((await stream.event()).data).toMatchObject({ type: "LEADER_CHANGED", group_id: "new" });
    const again = await service.stream("/v1/watch", { "last-event-id": resigned.id ?? "" });
    expect((await again.event()).data).toMatchObject({ type: "LEADER_CHANGED", group_id: "new" });
    const old = await service.stream("/v1/watch?cursor=0");
    const resyncs = [await old.event(), await old.event(), await old.event(), await old.event()];
    expect(resyncs.map(({ data }) => [data["type"], data["group_id"]])).toEqual(
      ["new", "vacant", "x", "y"].map((groupId) => ["RESYNC", groupId]),
    );
  });

  test("a long poll of all groups returns states in pages, and later events after them", async () => {
    const service = await serve();
    const groups = Array.from({ length: 1100 }, (_, index) => `g${index}`);
    await Promise.all(groups.map((group) => service.campaign(group, "a", { lease_ttl_ms: 60_000 })));
    for (const cursor of ["", "0"]) {
      const type = cursor === "" ? "LEADER_CHANGED" : "RESYNC";
      const first = (await service.get(`/v1/watch?cursor=${cursor}`)).body;
      expect(types(first)).toEqual(Array.from({ length: 1000 }, () => type));
      // One group whose state was sent, and one whose state is still to come: g1 is first in order, g999 last.
      for (const group of ["g1", "g999"]) await service.resign(group, "a", cursor === "" ? 1 : 2);
      const second = await service.get(`/v1/watch?cursor=${encodeURIComponent(String(first["cursor"]))}`);
      const [states, events] = [
        [...(first["events"] as Body[]), ...(second.body["events"] as Body[]).slice(0, 100)],
        (second.body["events"] as Body[]).slice(100),
      ];
      expect(states.map((each) => [each["type"], each["group_id"]])).toEqual(
        [...groups].sort().map((groupId) => [type, groupId]),
      );
      expect(events).toMatchObject([
        { group_id: "g1", type: "LEADER_LOST" },
        { group_id: "g999", type: "LEADER_LOST" },
      ]);
      for (const group of ["g1", "g999"]) await service.campaign(group, "a", { lease_ttl_ms: 60_000 });
    }
  });

  test("a watch of all groups refuses a cursor that no watch has given", async () => {
    const service = await serve();
    for (const cursor of ["x", "1@", "1@no id", "1@a@b", "@g", "1!g!", "-1", "1.5", "1@a!b"]) {
      const { status, body } = await service.get(
        `/v1/watch?cursor=${encodeURIComponent(cursor)}&timeout_ms=1`,
      );
      expect([cursor, status, body["field"]]).toEqual([cursor, 400, "cursor"]);
    }
    const { status } = await service.get("/v1/groups/g/watch?cursor=1@g");
    expect(status).toBe(400);
  });

  test("a watch of all groups shows a caller the groups it may see, and no other", async () => {
    const { service, bearer } = await serveKnown();
    const admin = service.as(ADMIN_TOKEN);
    const seer = service.as(await bearer({ sub: "o", role: "observer", groups: ["team-*"] }));
    for (const group of ["team-1", "secret", "team-2"]) await admin.campaign(group, "a");
    const stream = await seer.stream("/v1/watch");
    const seen = [await stream.event(), await stream.event()];
    await admin.resign("secret", "a", 1);
    await admin.resign("team-2", "a", 1);
    seen.push(await stream.event());
    expect(seen.map(({ data }) => data["group_id"])).toEqual(["team-1", "team-2", "team-2"]);
    const { body } = await seer.get("/v1/groups");
    const groups = body["groups"] as { group_id: string }[];
    expect(groups.map(({ group_id }) => group_id)).toEqual(["team-1", "team-2"]);
  });
});

test("HEAD of a watch is answered at once, with 404", async () => {
  const service = await serve();
  for (const path of ["/v1/watch", "/v1/groups/g/watch"])
    expect((await service.ask("HEAD", path)).status).toBe(404);
  for (const path of ["/healthz", "/readyz"]) expect((await service.ask("HEAD", path)).status).toBe(200);
});

test("watches above the limit are refused, and there is room when one ends", async () => {
  const service = await serve({ maxWatches: 2 });
  const first = await service.stream("/v1/groups/g/watch");
  await service.stream("/v1/watch");
  const refused = await service.get("/v1/groups/g/watch", { headers: { accept: "text/event-stream" } });
  expect([refused.status, refused.body["error"], refused.headers.get("retry-after")]).toEqual([
    429,
    "TOO_MANY_WAITING",
    "1",
  ]);
  first.close();
  await service.untilMetric("open_watches", 1);
  expect((await service.get("/v1/groups/g/watch")).status).toBe(200);
});

test("one caller cannot use up all watches or waits: other callers and admins still get theirs", async () => {
  const { service, bearer } = await serveKnown({ maxWatches: 4, maxWaiting: 4 });
  const as = async (sub: string, role: string) => service.as(await bearer({ sub, role, groups: ["*"] }));
  const [greedy, node, admin] = [
    await as("greedy", "observer"),
    await as("a", "node"),
    service.as(ADMIN_TOKEN),
  ];
  for (let open = 0; open < 2; open++) await greedy.stream("/v1/groups/g/watch");
  const refused = await greedy.get("/v1/groups/g/watch", { headers: { accept: "text/event-stream" } });
  expect([refused.status, refused.body["error"]]).toEqual([429, "TOO_MANY_WAITING"]);
  expect(refused.body["message"]).toContain("--max-watches-per-caller");
  await node.stream("/v1/groups/g/watch");
  await admin.stream("/v1/watch");
  await admin.campaign("g", "leader", { lease_ttl_ms: 60_000 });
  const gone = new AbortController();
  later(() => gone.abort());
  for (let open = 0; open < 2; open++)
    node.campaign("g", "a", { wait_ms: 60_000 }, { signal: gone.signal }).catch(() => {});
  await admin.untilMetric("waiting_campaigns", 2);
  expect((await node.campaign("g", "a", { wait_ms: 60_000 })).status).toBe(429);
  const other = (await as("b", "node")).campaign("g", "b", { wait_ms: 60_000 }, { signal: gone.signal });
  other.catch(() => {});
  await admin.untilMetric("waiting_campaigns", 3);
});
