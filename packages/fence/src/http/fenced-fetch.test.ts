import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MemoryTermCell } from "../gate/term-cell.js";
import { TermGate } from "../gate/term-gate.js";
import { fencedFetch, type Leading } from "./fenced-fetch.js";
import { nodeFence } from "./node-fence.js";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

let url = "";
let handler: Handler;
let asked: IncomingHttpHeaders[] = [];
let close = (): void => {};
beforeEach(async () => {
  asked = [];
  handler = (_request, response) => response.end("done");
  const server = createServer((request, response) => {
    asked.push(request.headers);
    handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jobs`;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(() => close());

const LEADING: Leading = { groupId: "billing", term: 7, token: "a.b.c" };
const answer = (status: number, body: string, type = "application/json"): Handler => {
  return (_request, response) => response.writeHead(status, { "content-type": type }).end(body);
};

describe("fencedFetch", () => {
  test("a fenced fetch sends group, term and mandate with everything else that was given", async () => {
    handler = async (request, response) => response.end(await text(request));
    const send = fencedFetch(fetch, () => LEADING);
    const response = await send(url, { method: "POST", body: "b", headers: { "x-own": "1" } });
    expect(await response.text()).toBe("b");
    const request = new Request(url, { method: "POST", body: "c", headers: { "x-own": "2" } });
    expect(await (await send(request)).text()).toBe("c");
    await send(new URL(url));
    const fence = { "tenure-group": "billing", "tenure-term": "7", "tenure-mandate": "a.b.c" };
    expect(asked).toMatchObject([{ ...fence, "x-own": "1" }, { ...fence, "x-own": "2" }, fence]);
  });

  test("a fenced fetch reads its source for each request, and sends no header of an earlier term", async () => {
    let leading: Leading = LEADING;
    const send = fencedFetch(fetch, () => leading);
    await send(url);
    leading = { groupId: "billing", term: 9 };
    await send(url, { headers: { "Tenure-Mandate": "old", "Tenure-Term": "7" } });
    expect(asked[1]).toMatchObject({ "tenure-term": "9" });
    expect(asked[1]).not.toHaveProperty("tenure-mandate");
  });

  test("a fenced fetch sends nothing once its sender no longer leads", async () => {
    for (const none of [null, undefined]) {
      const send = fencedFetch(fetch, () => none);
      await expect(send(url)).rejects.toMatchObject({ code: "NOT_LEADER" });
    }
    const wrong = fencedFetch(fetch, () => ({ groupId: "billing", term: 0 }));
    await expect(wrong(url)).rejects.toMatchObject({ code: "INVALID_REQUEST", field: "term" });
    expect(asked).toEqual([]);
  });

  test("a fenced fetch rejects with the highest term when the guard on the other side has seen a later leader", async () => {
    const fence = nodeFence({ gate: new TermGate({ cell: new MemoryTermCell() }), groupId: "billing" });
    handler = async (request, response) => {
      if (await fence(request, response)) response.end("done");
    };
    const [old, next] = [7, 8].map((term) => fencedFetch(fetch, () => ({ groupId: "billing", term })));
    expect(await (await old?.(url))?.text()).toBe("done");
    expect(await (await next?.(url))?.text()).toBe("done");
    await expect(old?.(url)).rejects.toMatchObject({
      code: "STALE_TERM",
      groupId: "billing",
      term: 7,
      highestTerm: 8,
    });
  });

  test("a fenced fetch recognizes a refusal of any fence, even without the highest term", async () => {
    handler = answer(409, '{"error":"STALE_TERM"}', "application/problem+json; charset=utf-8");
    const send = fencedFetch(fetch, () => LEADING);
    await expect(send(url)).rejects.toMatchObject({ code: "STALE_TERM", highestTerm: null });
  });

  test("a fenced fetch leaves the body of every other response readable", async () => {
    const send = fencedFetch(fetch, () => LEADING);
    for (const [status, body, type] of [
      [409, '{"error":"CONFLICT"}', "application/json"],
      [409, "STALE_TERM", "text/plain"],
      [409, "{", "application/json"],
      [409, "null", "application/json"],
      [500, '{"error":"STALE_TERM"}', "application/json"],
      [200, '{"error":"STALE_TERM"}', "application/json"],
    ] as const) {
      handler = answer(status, body, type);
      const response = await send(url);
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(body);
    }
  });

  test("a fenced fetch does not carry a mandate to the target of a redirect, unless configured", async () => {
    const redirect: Handler = (request, response) =>
      request.url === "/jobs"
        ? response.writeHead(307, { location: "/elsewhere" }).end()
        : response.end("there");
    handler = redirect;
    const send = fencedFetch(fetch, () => LEADING);
    await expect(send(url)).rejects.toThrow();
    await expect(send(new Request(url))).rejects.toThrow();
    expect(asked).toHaveLength(2);
    expect(await (await send(url, { redirect: "follow" })).text()).toBe("there");
  });

  test("a fenced fetch needs a fetch and a source", () => {
    expect(() => fencedFetch(undefined as never, () => null)).toThrow("fetch must be a function");
    expect(() => fencedFetch(fetch, LEADING as never)).toThrow("source must be a function");
  });
});
