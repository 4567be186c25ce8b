import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventOf } from "../model/wire.test-kit.js";
import { LostError, RefusedError } from "./api.js";
import { type FeedStatus, LiveFeed } from "./live-feed.js";

/** What a connection delivers: text or chunks of bytes and then its end, or a failure. */
type Connection = string | readonly Uint8Array[] | Error;

/** Runs a feed over these connections, one after the other, and stops it after the last. */
async function follow(connections: readonly Connection[]) {
  const cursors: string[] = [];
  const statuses: FeedStatus["kind"][] = [];
  const waits: number[] = [];
  const terms: number[] = [];
  const leaders: (string | null)[] = [];
  const feed: LiveFeed = new LiveFeed({
    api: {
      stream: (cursor) => {
        const sent = connections[cursors.length] ?? new Error("over");
        cursors.push(cursor);
        if (sent instanceof Error) return Promise.reject(sent);
        const chunks = typeof sent === "string" ? [new TextEncoder().encode(sent)] : sent;
        return Promise.resolve(streamOf(chunks));
      },
    },
    onEvents: (events) => {
      terms.push(...events.map(({ term }) => term));
      leaders.push(...events.map(({ leader_node_id: leader }) => leader));
    },
    onStatus: ({ kind }) => statuses.push(kind),
    nowMs: () => 0,
    sleep: async (ms) => {
      waits.push(ms);
      if (cursors.length >= connections.length) feed.stop();
    },
    random: () => 1,
  });
  await feed.run();
  return { cursors, statuses, waits, terms, leaders };
}

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

const event = (term: number) => `data: ${JSON.stringify(eventOf("g", term, "a"))}\n\n`;

describe("the feed", () => {
  test("the feed starts before all events and reconnects with the last cursor", async () => {
    const { cursors, terms, statuses } = await follow([
      `id: 7\n${event(1)}`,
      new LostError("gone"),
      `id: 9\n${event(2)}`,
      "",
    ]);
    expect(cursors).toEqual(["0", "7", "7", "9"]);
    expect(terms).toEqual([1, 2]);
    expect(statuses).toEqual(["live", "lost", "live", "lost", "live", "lost"]);
  });

  test("the feed receives the same events wherever the network cuts the stream", async () => {
    const named = JSON.stringify(eventOf("g", 2, "zoë"));
    const stream = [
      ":\n\nretry: 1000\n\n",
      event(1),
      `id: 7\r\ndata:${named.slice(0, 1)}\r\ndata: ${named.slice(1)}\r\n\r\n`,
      "id: 19\n\n",
      "id: 20\ndata: half\n",
    ].join("");
    const bytes = new TextEncoder().encode(stream);
    const cuts = fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const edges = [0, ...places.toSorted((a, b) => a - b), bytes.length];
        const chunks = edges.slice(1).map((to, i) => bytes.slice(edges[i], to));
        const { cursors, leaders, waits } = await follow([chunks, new LostError("gone")]);
        expect(leaders).toEqual(["a", "zoë"]);
        expect(cursors).toEqual(["0", "7"]);
        expect(waits[0]).toBe(1000);
      }),
      { examples: [[Array.from(bytes.keys())]] },
    );
  });

  test("a feed that is cut off before the first cursor starts again from its old cursor", async () => {
    const { cursors } = await follow([event(1) + event(2), ""]);
    expect(cursors).toEqual(["0", "0"]);
    const later = await follow([`id: 7\n${event(1)}${event(2)}`, event(3), ""]);
    expect(later.cursors).toEqual(["0", "7", "7"]);
  });

  test("the feed doubles its wait up to four seconds while no server responds, and obeys the server's retry hint", async () => {
    const lost = Array.from({ length: 6 }, () => new LostError("gone"));
    const { waits } = await follow([...lost, `retry: 1000\n\n${event(1)}`, new LostError("gone")]);
    expect(waits).toEqual([500, 1000, 2000, 4000, 4000, 4000, 1000, 2000]);
  });

  test("the feed stops when the server refuses it, and retries while the store is unavailable", async () => {
    const unavailable = new RefusedError(503, "BACKEND_UNAVAILABLE", "no store");
    const refused = new RefusedError(401, "UNAUTHENTICATED", "no token");
    const { cursors, statuses } = await follow([unavailable, refused, ""]);
    expect(cursors).toHaveLength(2);
    expect(statuses).toEqual(["lost", "refused"]);
  });
});
