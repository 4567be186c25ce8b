import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_EVENT_CHARACTERS, type SseMessage, SseParser } from "./sse-parser.js";

const all = (...texts: readonly string[]): readonly SseMessage[] => {
  const parser = new SseParser();
  return texts.flatMap((text) => parser.push(text));
};

test("an SSE message is delivered at its blank line, and not before", () => {
  const parser = new SseParser();
  expect(parser.push("id: 7\ndata: {}\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ kind: "event", id: "7", data: "{}" }]);
});

test("comments, retry fields and lines of every ending are parsed", () => {
  // The last CR may yet be followed by a LF.
  expect(all(":\n\nretry: 1000\r\n\r\ndata: a\rdata:b\r\r")).toEqual([{ kind: "retry", retryMs: 1000 }]);
  expect(all("data: a\rdata:b\r\r", "id: 1\n\n", "data: c\n\n")).toEqual([
    { kind: "event", id: null, data: "a\nb" },
    // Without data there is no event, and its id is not that of the next one.
    { kind: "event", id: null, data: "c" },
  ]);
});

test("a retry field that is no number or has more than nine digits is ignored", () => {
  expect(all("retry: soon\nretry: 1000000000\n\nretry: 999999999\n\n")).toEqual([
    { kind: "retry", retryMs: 999_999_999 },
  ]);
});

test.each(["data: ", "id: ", ": ", "x"])("an endless line of %j is refused, and not kept", (start) => {
  const parser = new SseParser();
  const piece = "x".repeat(MAX_EVENT_CHARACTERS / 16);
  parser.push(start);
  for (let pieces = 0; pieces < 15; pieces++) expect(parser.push(piece)).toEqual([]);
  expect(() => parser.push(piece)).toThrow("an event is larger than 1048576 characters");
});

test("an endless event of short lines is refused, and not kept", () => {
  const parser = new SseParser();
  const lines = `data: ${"x".repeat(1000)}\n`.repeat(100);
  expect(() => {
    for (let pieces = 0; pieces < 12; pieces++) parser.push(lines);
  }).toThrow("an event is larger than 1048576 characters");
});

test("many events together may be larger than one may be", () => {
  const event = `data: ${"x".repeat(1000)}\n\n`;
  expect(all(event.repeat(2000))).toHaveLength(2000);
});

test("the parsed messages are the same wherever the stream is split", () => {
  const text = fc
    .array(fc.constantFrom("id: 1", "data: x", "data:", ": c", "retry: 5", "", "", "\r"), { maxLength: 30 })
    .chain((lines) =>
      fc
        .array(fc.constantFrom("\n", "\r\n"), { minLength: lines.length, maxLength: lines.length })
        .map((ends) => lines.map((line, index) => line + ends[index]).join("")),
    );
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 5 }), (whole, places) => {
      const cuts = [
        0,
        ...places.map((each) => each % (whole.length + 1)).toSorted((a, b) => a - b),
        whole.length,
      ];
      const pieces = cuts.slice(1).map((end, index) => whole.slice(cuts[index], end));
      expect(all(...pieces)).toEqual(all(whole));
    }),
  );
});
