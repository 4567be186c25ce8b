import { describe, expect, test } from "vitest";
import { eventOf } from "../model/wire.test-kit.js";
import { LostError, RefusedError } from "./api.js";
import { type FeedStatus, LiveFeed } from "./live-feed.js";

type Connection = string | Error;

/** A feed over connections that each say something and end, or fail; it is stopped after the last. */
async function follow(connections: readonly Connection[]) {
  const cursors: string[] = [];
  const statuses: FeedStatus["kind"][] = [];
  const waits: number[] = [];
  const terms: number[] = [];
  const feed: LiveFeed = new LiveFeed({
    api: {
      stream: (cursor) => {
        const said = connections[cursors.length] ?? new Error("over");
        cursors.push(cursor);
        if (said instanceof Error) return Promise.reject(said);
        return Promise.resolve(new Blob([said]).stream() as ReadableStream<Uint8Array>);
      },
    },
    onEvents: (events) => terms.push(...events.map(({ term }) => term)),
    onStatus: ({ kind }) => statuses.push(kind),
    nowMs: () => 0,
    sleep: async (ms) => {
      waits.push(ms);
      if (cursors.length >= connections.length) feed.stop();
    },
    random: () => 1,
  });
  await feed.run();
  return { cursors, statuses, waits, terms };
}

const event = (term: number) => `data: ${JSON.stringify(eventOf("g", term, "a"))}\n\n`;

describe("the feed", () => {
  test("begins before all events, and comes back by the last cursor", async () => {
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

  test("cut off in the middle of states without a cursor, begins where it began", async () => {
    const { cursors } = await follow([event(1) + event(2), ""]);
    expect(cursors).toEqual(["0", "0"]);
    const later = await follow([`id: 7\n${event(1)}${event(2)}`, event(3), ""]);
    expect(later.cursors).toEqual(["0", "7", "7"]);
  });

  test("waits longer and longer while nobody answers, never more than four seconds, and obeys the server's hint", async () => {
    const lost = Array.from({ length: 6 }, () => new LostError("gone"));
    const { waits } = await follow([...lost, `retry: 1000\n\n${event(1)}`, new LostError("gone")]);
    expect(waits).toEqual([500, 1000, 2000, 4000, 4000, 4000, 1000, 2000]);
  });

  test("stops where it is refused, and goes on where the store does not answer", async () => {
    const unavailable = new RefusedError(503, "BACKEND_UNAVAILABLE", "no store");
    const refused = new RefusedError(401, "UNAUTHENTICATED", "who asks?");
    const { cursors, statuses } = await follow([unavailable, refused, ""]);
    expect(cursors).toHaveLength(2);
    expect(statuses).toEqual(["lost", "refused"]);
  });
});
