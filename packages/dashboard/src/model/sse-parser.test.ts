import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type SseMessage, SseParser } from "./sse-parser.js";

const STREAM = [
  ":\n\n",
  'data: {"a":1}\n\n',
  'id: 17\ndata: {"b":"ü"}\n\n',
  "retry: 1000\n\n",
  "data: one\r\ndata:two\r\nid:18\r\n\r\n",
  "id: 19\n\n",
  "event: other\ndata\n\n",
].join("");

const MESSAGES: readonly SseMessage[] = [
  { data: '{"a":1}', id: null },
  { data: '{"b":"ü"}', id: "17" },
  { data: "one\ntwo", id: "18" },
  { data: "", id: null },
];

test("a stream gives the same messages however it is cut", () => {
  const cuts = fc.array(fc.integer({ min: 0, max: STREAM.length }), { maxLength: 12 });
  fc.assert(
    fc.property(cuts, (places) => {
      const edges = [0, ...places.toSorted((a, b) => a - b), STREAM.length];
      const parser = new SseParser();
      const got = edges.slice(1).flatMap((to, i) => parser.push(STREAM.slice(edges[i], to)));
      expect(got).toEqual(MESSAGES);
      expect(parser.retryMs).toBe(1000);
    }),
  );
});

test("a message that has not ended is not told", () => {
  const parser = new SseParser();
  expect(parser.push("id: 1\ndata: half\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ data: "half", id: "1" }]);
});
