import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type SseMessage, SseParser } from "./sse-parser.js";

const all = (...texts: readonly string[]): readonly SseMessage[] => {
  const parser = new SseParser();
  return texts.flatMap((text) => parser.push(text));
};

test("an SSE message is delivered at its blank line, and not before", () => {
  const parser = new SseParser();
  expect(parser.push("id: 7\ndata: {}\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ id: "7", data: "{}", retryMs: null }]);
});

test("comments, retry fields and lines of every ending are parsed", () => {
  expect(all(":\n\nretry: 1000\r\n\r\ndata: a\rdata:b\r\r")).toEqual([
    { id: null, data: null, retryMs: null },
    { id: null, data: null, retryMs: 1000 },
    // The last CR may yet be followed by a LF.
  ]);
  expect(all("data: a\rdata:b\r\r", "id: 1\n\n")).toEqual([
    { id: null, data: "a\nb", retryMs: null },
    { id: "1", data: null, retryMs: null },
  ]);
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
