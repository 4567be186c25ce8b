import { EventEmitter, getEventListeners } from "node:events";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { responseEndSignal } from "./request-signals.js";

function replies(count: number): FastifyReply[] {
  return Array.from({ length: count }, () => ({ raw: new EventEmitter() }) as unknown as FastifyReply);
}

test("a thousand long polls share one listener for the server's stop, which is removed with the last of them", () => {
  const stopping = new AbortController();
  const open = replies(1000);
  const ends = open.map((reply) => responseEndSignal(reply, stopping.signal));
  expect(getEventListeners(stopping.signal, "abort")).toHaveLength(1);
  for (const { raw } of open) raw.emit("close");
  expect(getEventListeners(stopping.signal, "abort")).toHaveLength(0);
  expect(ends.every(({ aborted }) => aborted)).toBe(true);
});

test("every long poll ends when the server stops, and a later one ends at once", () => {
  const stopping = new AbortController();
  const ends = replies(3).map((reply) => responseEndSignal(reply, stopping.signal));
  stopping.abort(new Error("the server is stopping"));
  const [late] = replies(1).map((reply) => responseEndSignal(reply, stopping.signal));
  for (const signal of [...ends, late]) {
    expect(signal?.reason).toMatchObject({ code: "BACKEND_UNAVAILABLE" });
  }
});
