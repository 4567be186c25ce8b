/** Watches over servers with scripted answers, in virtual time. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, expect, test } from "vitest";
import { HttpElector } from "./http-elector.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
});

interface Asked {
  /** Of a watch of one group or of all groups. */
  readonly cursor: string | string[] | number | undefined;
  readonly groups: readonly string[];
  readonly response: ServerResponse;
}

/** A server of streams; each request is kept and answered with the head of a stream. */
async function streams(): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request: IncomingMessage, response) => void answer(request, response));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { watches = [] } = JSON.parse((await text(request)) || "{}") as {
      watches?: { group_id: string; cursor?: number }[];
    };
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const cursor = watches[0]?.cursor ?? request.headers["last-event-id"];
    asked.push({ cursor, groups: watches.map(({ group_id }) => group_id), response });
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** `number`: for a watch of single groups. */
const event = (groupId: string, term: number, number?: number) =>
  `data: ${JSON.stringify({ number, type: "LEADER_CHANGED", group_id: groupId, term, leader_node_id: "a", ts_ms: 1, previous_leader_node_id: null, reason: "none" })}\n\n`;

async function open() {
  const { url, asked } = await streams();
  const clock = new VirtualClock();
  const elector = await HttpElector.open({ endpoints: [url], clock, random: () => 0 });
  undo.push(() => elector.close());
  /** The request with that number. Only as much time passes as it needs. */
  const request = async (number: number): Promise<Asked> => {
    for (;;) {
      const found = asked[number - 1];
      if (found !== undefined) return found;
      await clock.advance(1);
    }
  };
  return { clock, elector, request, asked };
}

test("a watch leaves a server that has been silent for too long, and resumes from its cursor", async () => {
  const { clock, elector, request, asked } = await open();
  const events = elector.watch("g")[Symbol.asyncIterator]();
  const first = events.next();
  (await request(1)).response.write(event("g", 3, 7));
  expect((await first).value).toMatchObject({ cursor: 7, term: 3 });
  const second = events.next();
  await clock.advance(39_000);
  expect(asked).toHaveLength(1);
  await clock.advance(1000);
  const { cursor, response } = await request(2);
  expect(cursor).toBe(7);
  response.write(event("g", 4, 8));
  expect((await second).value).toMatchObject({ cursor: 8, term: 4 });
});

test("comments keep an idle watch open", async () => {
  const { clock, elector, request, asked } = await open();
  const events = elector.watch("g", { cursor: 1 })[Symbol.asyncIterator]();
  const next = events.next();
  const { response, cursor } = await request(1);
  expect(cursor).toBe(1);
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => {
      response.write(":\n\n", () => resolve());
    });
    await clock.advance(15_000);
  }
  expect(asked).toHaveLength(1);
  response.write(event("g", 1, 2));
  expect((await next).value).toMatchObject({ cursor: 2 });
});

test("states that share a cursor are delivered together or not at all", async () => {
  const { elector, request } = await open();
  const events = elector.watchAll()[Symbol.asyncIterator]();
  const first = events.next();
  // Cut off before the cursor arrived.
  (await request(1)).response.end(event("a", 1));
  const again = await request(2);
  expect(again.cursor).toBeUndefined();
  again.response.write(`${event("a", 1)}${event("b", 1)}id: 40\n${event("c", 1)}`);
  expect((await first).value).toMatchObject({ groupId: "a", cursor: 40 });
  expect((await events.next()).value).toMatchObject({ groupId: "b", cursor: 40 });
  expect((await events.next()).value).toMatchObject({ groupId: "c", cursor: 40 });
});

test("a server that stops sends when to come back, and gets no request before", async () => {
  const { clock, elector, request } = await open();
  const events = elector.watch("g", { cursor: 5 })[Symbol.asyncIterator]();
  const next = events.next();
  (await request(1)).response.end("retry: 3000\n\n");
  const endedMs = clock.monotonicMs();
  const { cursor, response } = await request(2);
  expect(clock.monotonicMs() - endedMs).toBeGreaterThanOrEqual(3000);
  expect(cursor).toBe(5);
  response.write(event("g", 1, 6));
  expect((await next).value).toMatchObject({ cursor: 6 });
});
