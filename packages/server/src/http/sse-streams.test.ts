import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, systemClock } from "@tenure/core";
import Fastify from "fastify";
import { afterEach, expect, test, vi } from "vitest";
import type { WatchItem } from "../watch.js";
import { turn } from "./long-poll.js";
import { cleanUp, later } from "./service.test-kit.js";
import { SseStreams } from "./sse-streams.js";

afterEach(cleanUp);

test("a reader that does not read is sent no more than the connection buffers, and is released when it leaves", async () => {
  let pulled = 0;
  let ended = (): void => {};
  const isOver = new Promise<void>((resolve) => {
    ended = resolve;
  });
  /** An endless stream of events. */
  async function* endless(): AsyncGenerator<WatchItem, undefined> {
    try {
      for (;;) {
        const event = { type: "RESYNC", reason: "x".repeat(4096) } as unknown as WatchItem["event"];
        yield { event, cursor: ++pulled, partial: false };
      }
    } finally {
      ended();
    }
  }
  const app = Fastify();
  const streams = new SseStreams(systemClock, new AbortController().signal);
  later(() => streams.close());
  app.get("/", (request, reply) => {
    const items = endless();
    reply.raw.once("close", () => void items.return(undefined));
    streams.send(request, reply, items, items.next());
    return reply;
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  later(() => app.close());

  const request = get({ port: (app.server.address() as AddressInfo).port, host: "127.0.0.1" });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.pause();
  // Until nothing moves for a while: the buffers of the connection are full.
  for (let still = 0, last = 0; still < 2000; last = pulled) {
    still = pulled === last ? still + 1 : 0;
    await turn();
  }
  const stuckAt = pulled;
  expect(stuckAt * 4096).toBeLessThan(32 * 1024 * 1024);
  for (let turns = 0; turns < 1000; turns++) await turn();
  expect(pulled).toBe(stuckAt);
  response.destroy();
  await isOver;
});

test("the events of one turn are sent in one write, and all of them before the stream ends", async () => {
  const event = (number: number) =>
    ({ type: "RESYNC", reason: `${number}` }) as unknown as WatchItem["event"];
  async function* three(): AsyncGenerator<WatchItem, undefined> {
    for (const number of [1, 2, 3]) yield { event: event(number), cursor: number, partial: false };
  }
  const app = Fastify();
  const streams = new SseStreams(systemClock, new AbortController().signal);
  later(() => streams.close());
  const written: string[] = [];
  app.get("/", (request, reply) => {
    const { raw } = reply;
    const write = raw.write.bind(raw);
    vi.spyOn(raw, "write").mockImplementation((text: unknown) => {
      written.push(String(text));
      return write(text);
    });
    const items = three();
    streams.send(request, reply, items, items.next());
    return reply;
  });
  const { body } = await app.inject("/");
  later(() => app.close());
  const frames = [1, 2, 3].map((number) => `id: ${number}\ndata: {"type":"RESYNC","reason":"${number}"}\n\n`);
  expect(written).toEqual([frames.join("")]);
  expect(body).toBe(frames.join(""));
});

test("one turn of the event loop sends 100 keep-alives, however many streams are open", async () => {
  const timers: (() => void)[] = [];
  const turns: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (_, callback) => {
      timers.push(callback);
      return () => {};
    },
    soon: (callback) => void turns.push(callback),
  };
  const app = Fastify();
  const streams = new SseStreams(clock, new AbortController().signal);
  later(() => streams.close());
  let keepAlives = 0;
  const items: AsyncIterableIterator<WatchItem, undefined> = {
    next: () => new Promise(() => {}),
    [Symbol.asyncIterator]: () => items,
  };
  app.get("/", (request, reply) => {
    vi.spyOn(reply.raw, "write").mockImplementation((text: unknown) => {
      if (text === ":\n\n") keepAlives++;
      return true;
    });
    streams.send(request, reply, items, items.next());
    return reply;
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  later(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  for (let index = 0; index < 250; index++) {
    const request = get({ port, host: "127.0.0.1", agent: false });
    later(() => request.destroy());
    await once(request, "response");
  }

  timers.shift()?.();
  const sent = [keepAlives];
  while (turns.length > 0) {
    turns.shift()?.();
    sent.push(keepAlives);
  }
  expect(sent).toEqual([100, 200, 250]);
  expect(timers).toHaveLength(1);
});
