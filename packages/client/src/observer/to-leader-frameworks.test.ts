import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import fastify from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { expressToLeader, fastifyToLeader } from "./to-leader.js";
import { ask, cleanUp, deferred, later, leaderNode, leading, listening } from "./to-leader.test-kit.js";

afterEach(cleanUp);

type Express = () => RequestListener & {
  use(...handlers: unknown[]): void;
  post(path: string, handler: (request: unknown, response: { send(body: string): void }) => void): void;
};
/** The module has no types. */
const express = createRequire(import.meta.url)("express") as Express & { json(): unknown };

describe("expressToLeader", () => {
  test("expressToLeader forwards requests below any path, and the leader handles its own", async () => {
    const leader = await leaderNode();
    let leads = false;
    const app = express();
    app.use("/jobs", expressToLeader({ observer: leading(leader.address), isLeader: () => leads }));
    app.use(express.json());
    app.post("/jobs/new", (request, response) =>
      response.send(JSON.stringify((request as { body: unknown }).body)),
    );
    const address = await listening(createServer(app));
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' };
    expect((await ask(`${address}/jobs/new?x=1`, post)).body).toBe("done");
    expect(leader.seen).toMatchObject([{ method: "POST", url: "/jobs/new?x=1", body: '{"a":1}' }]);
    leads = true;
    expect((await ask(`${address}/jobs/new`, post)).body).toBe('{"a":1}');
  });

  test("expressToLeader behind a body parser fails with an error instead of a truncated request", async () => {
    const leader = await leaderNode();
    const app = express();
    app.use(express.json());
    app.use(expressToLeader({ observer: leading(leader.address) }));
    app.use((error: Error, _request: unknown, response: { end(text: string): void }, _next: unknown) =>
      response.end(error.message),
    );
    const address = await listening(createServer(app));
    const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' };
    expect((await ask(address, post)).body).toMatch(/before any body parser/);
    expect(leader.seen).toEqual([]);
  });
});

test("fastifyToLeader forwards requests, and the leader handles its own", async () => {
  const leader = await leaderNode();
  let leads = false;
  const app = fastify();
  later(() => app.close());
  app.addHook("onRequest", fastifyToLeader({ observer: leading(leader.address), isLeader: () => leads }));
  app.post("/jobs", (request) => ({ local: request.body }));
  const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" })).host;
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' };
  expect((await ask(`${address}/jobs?x=1`, post)).body).toBe("done");
  expect(leader.seen).toMatchObject([{ method: "POST", url: "/jobs?x=1", body: '{"a":1}' }]);
  leads = true;
  expect((await ask(`${address}/jobs`, post)).body).toBe('{"local":{"a":1}}');
});

test("fastifyToLeader does not handle a forwarded request whose sender has disconnected", async () => {
  const arrived = deferred<IncomingMessage>();
  const leaderAddress = await listening(createServer((request) => arrived.resolve(request)));
  let handled = 0;
  const app = fastify();
  later(() => app.close());
  const onRequest = fastifyToLeader({ observer: leading(leaderAddress) });
  app.get("/jobs", { onRequest }, () => (handled += 1));
  app.get("/other", () => "other");
  const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" })).host;
  const request = httpRequest(`http://${address}/jobs`, { agent: false }).on("error", () => {});
  request.end();
  const { socket } = await arrived.promise;
  request.destroy();
  await once(socket, "close");
  expect((await ask(`${address}/other`)).body).toBe("other");
  expect(handled).toBe(0);
});
