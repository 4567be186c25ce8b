/** How the transport handles answers that a healthy service rarely gives, by servers with scripted answers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BackendUnavailableError, systemClock } from "@tenure/core";
import { afterEach, expect, test } from "vitest";
import { RateLimitedError, UnexpectedAnswerError } from "./errors.js";
import { HttpElector } from "./http-elector.js";
import type { HttpElectorOptions } from "./options.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function server(handler: Handler): Promise<string> {
  const made: Server = createServer(handler);
  made.listen(0, "127.0.0.1");
  await once(made, "listening");
  undo.push(() => {
    made.close();
    made.closeAllConnections();
  });
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

async function elector(endpoints: readonly string[], options: Partial<HttpElectorOptions> = {}) {
  const opened = await HttpElector.open({ endpoints, random: () => 0, ...options });
  undo.push(() => opened.close());
  return opened;
}

function refuse(response: ServerResponse, status: number, error: string, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ ok: false, error, message: `this is ${error}` }));
}

const nobody: Handler = (_, response) => {
  response.end('{"leader":null,"term":7}');
};

test("a rate-limited call waits for retry-after at the same server", async () => {
  const times: number[] = [];
  const url = await server((request, response) => {
    times.push(systemClock.monotonicMs());
    if (times.length === 1) refuse(response, 429, "RATE_LIMITED", { "retry-after": "1" });
    else nobody(request, response);
  });
  const other = await server(() => times.push(Number.NaN));
  const client = await elector([url, other]);
  expect(await client.leader("g")).toMatchObject({ term: 7 });
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(1000);
});

test("a rate-limited call without enough time left rejects with retryAfterMs", async () => {
  const url = await server((_, response) => refuse(response, 429, "RATE_LIMITED", { "retry-after": "30" }));
  const client = await elector([url]);
  const error = await client.leader("g").catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RateLimitedError);
  expect(error).toMatchObject({ code: "RATE_LIMITED", retryAfterMs: 30_000 });
});

test("a server that answers TOO_MANY_WAITING is left for another", async () => {
  const full = await server((_, response) =>
    refuse(response, 429, "TOO_MANY_WAITING", { "retry-after": "1" }),
  );
  const client = await elector([full, await server(nobody)]);
  expect(await client.leader("g")).toMatchObject({ term: 7 });
});

test("a call has one request at a time: the next server is tried after the last request was aborted", async () => {
  let open = 0;
  let most = 0;
  const silent: Handler = (request) => {
    most = Math.max(most, ++open);
    request.socket.once("close", () => open--);
  };
  const urls = [await server(silent), await server(silent), await server(silent)];
  const client = await elector(urls, { requestTimeoutMs: 600 });
  const startedMs = systemClock.monotonicMs();
  await expect(client.leader("g")).rejects.toThrow(BackendUnavailableError);
  expect(systemClock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(590);
  // A connection closed here is closed there a moment later, so one at most overlaps.
  expect(most).toBeLessThanOrEqual(2);
});

test("a server that failed is tried last for a while", async () => {
  const asked: string[] = [];
  const bad = await server((_, response) => {
    asked.push("bad");
    refuse(response, 503, "BACKEND_UNAVAILABLE");
  });
  const good = await server((request, response) => {
    asked.push("good");
    nobody(request, response);
  });
  const client = await elector([bad, good]);
  for (let i = 0; i < 3; i++) await client.leader("g");
  expect(asked).toEqual(["bad", "good", "good", "good"]);
});

test("a truncated answer is not accepted, and another server is tried", async () => {
  const half = await server((request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write('{"leader":null,', () => request.socket.destroy());
  });
  const client = await elector([half, await server(nobody)]);
  expect(await client.leader("g")).toMatchObject({ term: 7 });
  await expect((await elector([half])).leader("g")).rejects.toThrow(BackendUnavailableError);
});

test("a server that is not a Tenure service causes UnexpectedAnswerError", async () => {
  const website = await server((_, response) => response.end("<html>"));
  const missing = await server((_, response) => response.writeHead(404).end("not here"));
  for (const url of [website, missing]) {
    const client = await elector([url]);
    await expect(client.leader("g")).rejects.toThrow(UnexpectedAnswerError);
    await expect(client.watch("g")[Symbol.asyncIterator]().next()).rejects.toThrow(UnexpectedAnswerError);
  }
  // Something is broken between a proxy and its service: another server may be reachable.
  const proxy = await server((_, response) => response.writeHead(502).end("bad gateway"));
  expect(await (await elector([proxy, await server(nobody)])).leader("g")).toMatchObject({ term: 7 });
});

test("a path in the endpoint is kept in front of the service's paths", async () => {
  const paths: unknown[] = [];
  const url = await server((request, response) => {
    paths.push(request.url);
    nobody(request, response);
  });
  await (await elector([`${url}/tenure/`])).leader("a/b");
  expect(paths).toEqual(["/tenure/v1/groups/a%2Fb/leader"]);
});

test("a token function that never resolves does not delay a call beyond its timeout", async () => {
  const url = await server(nobody);
  const client = await elector([url], { requestTimeoutMs: 300, token: () => new Promise(() => {}) });
  await expect(client.leader("g")).rejects.toThrow(/no token could be had: it did not come within 300 ms/);
  const reason = new Error("not wanted");
  const controller = new AbortController();
  const leader = client.leader("g", { signal: controller.signal });
  controller.abort(reason);
  await expect(leader).rejects.toBe(reason);
});

test("a token that would break the header is not sent", async () => {
  const client = await elector([await server(nobody)], { token: () => "two\r\nlines: 1" });
  await expect(client.leader("g")).rejects.toThrow(/visible characters/);
});
