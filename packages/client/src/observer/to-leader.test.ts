import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { FORWARDED_HEADER, nodeToLeader, type ToLeaderOptions } from "./to-leader.js";
import {
  ask,
  cleanUp,
  deferred,
  later,
  leaderNode,
  leading,
  listening,
  NOBODY,
} from "./to-leader.test-kit.js";

afterEach(cleanUp);

/** A node with the handler; a request that it handles itself gets `local`. */
function node(options: ToLeaderOptions): Promise<string> {
  const toLeader = nodeToLeader({ nodeId: "me", ...options });
  return listening(
    createServer((request, response) => {
      void toLeader(request, response).then((isLocal) => {
        if (isLocal) response.end("local");
      });
    }),
  );
}

function pairs(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : []));
}

async function refusal(address: string, options: Parameters<typeof ask>[1] = {}): Promise<unknown[]> {
  const { status, body, headers } = await ask(address, options);
  return [status, (JSON.parse(body) as { error: string }).error, headers["retry-after"]];
}

describe("forwarding a request to the leader", () => {
  test("a request is forwarded with its method, path, headers and body, and the response is returned", async () => {
    const leader = await leaderNode((_request, response) => {
      response.writeHead(418, "I am a teapot", [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["X-Answer", "yes"],
      ]);
      response.end("short and stout");
    });
    const address = await node({ observer: leading(leader.address) });
    const answer = await ask(`${address}/jobs/7?x=%2F&y=ü`.replace("ü", "%C3%BC"), {
      method: "PATCH",
      headers: { "X-Twice": ["1", "2"], "Content-Type": "text/plain", host: "jobs.example" },
      body: "a body",
    });
    expect(answer.status).toBe(418);
    expect(answer.body).toBe("short and stout");
    expect(answer.headers).toMatchObject({ "set-cookie": ["a=1", "b=2"], "x-answer": "yes" });
    expect(leader.seen).toHaveLength(1);
    const [seen] = leader.seen;
    expect(seen).toMatchObject({ method: "PATCH", url: "/jobs/7?x=%2F&y=%C3%BC", body: "a body" });
    expect(pairs(seen?.headers ?? [])).toEqual(
      expect.arrayContaining([
        "X-Twice: 1",
        "X-Twice: 2",
        "Content-Type: text/plain",
        "host: jobs.example",
        `${FORWARDED_HEADER}: me`,
      ]),
    );
  });

  test.each(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])(
    "%s without a body is forwarded without one",
    async (method) => {
      const leader = await leaderNode();
      const address = await node({ observer: leading(leader.address) });
      const answer = await ask(address, { method });
      expect([answer.status, answer.body]).toEqual([200, method === "HEAD" ? "" : "done"]);
      expect(leader.seen).toMatchObject([{ method, body: "" }]);
      expect(pairs(leader.seen[0]?.headers ?? []).join()).not.toMatch(/transfer-encoding/i);
    },
  );

  test("a POST without a length has no body and is forwarded without one", async () => {
    const leader = await leaderNode();
    const { hostname, port } = new URL(`http://${await node({ observer: leading(leader.address) })}`);
    const socket = connect(Number(port), hostname);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(leader.seen).toMatchObject([{ method: "POST", body: "" }]);
    expect(pairs(leader.seen[0]?.headers ?? [])).toContain("content-length: 0");
  });

  test("a body of unknown length stays the body, whatever the method", async () => {
    const leader = await leaderNode();
    const address = await node({ observer: leading(leader.address) });
    const inner = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    await ask(address, { method: "DELETE", headers: { "transfer-encoding": "chunked" }, body: inner });
    expect(leader.seen).toMatchObject([{ method: "DELETE", url: "/", body: inner }]);
  });

  test("hop-by-hop headers are not forwarded in either direction", async () => {
    const leader = await leaderNode((_request, response) => {
      response.setHeader("Connection", "close, X-Hop-Back");
      response.setHeader("X-Hop-Back", "1");
      response.setHeader("Proxy-Authenticate", "Basic");
      response.setHeader("X-End", "1");
      response.end();
    });
    const address = await node({ observer: leading(leader.address) });
    const hops = {
      connection: "close, x-hop",
      "x-hop": "1",
      "keep-alive": "timeout=5",
      te: "trailers",
      trailer: "x",
      upgrade: "websocket",
      "proxy-authorization": "Basic eDp5",
      "proxy-connection": "keep-alive",
    };
    const answer = await ask(address, {
      method: "POST",
      headers: { ...hops, "transfer-encoding": "chunked", "x-end": "1" },
      body: "x",
    });
    const names = pairs(leader.seen[0]?.headers ?? []).map((pair) => pair.split(":")[0]?.toLowerCase());
    expect(names).toContain("x-end");
    for (const name of Object.keys(hops).filter((each) => each !== "connection"))
      expect(names).not.toContain(name);
    expect(pairs(leader.seen[0]?.headers ?? []).join()).not.toMatch(/x-hop/i);
    expect(answer.headers).toMatchObject({ "x-end": "1" });
    expect(answer.headers).not.toHaveProperty("x-hop-back");
    expect(answer.headers).not.toHaveProperty("proxy-authenticate");
  });

  test("bodies are streamed in both directions, larger than any buffer", async () => {
    const body = randomBytes(8 << 20);
    const leaderAddress = await listening(
      createServer((request, response) => {
        // Each chunk is answered before the next one is sent: a handler that buffers the whole body would wait forever.
        void pipeline(request, response);
      }),
    );
    const address = await node({ observer: leading(leaderAddress) });
    const request = httpRequest(`http://${address}`, { method: "POST", agent: false });
    request.write("first");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const [first] = (await once(response, "data")) as [Buffer];
    expect(String(first)).toBe("first");
    const hash = createHash("sha256");
    response.on("data", (chunk: Buffer) => hash.update(chunk));
    const ended = once(response, "end");
    await pipeline(Readable.from(body), request);
    await ended;
    expect(hash.digest("hex")).toBe(createHash("sha256").update(body).digest("hex"));
  });

  test("a response that has begun has no time limit, even if it began before the request had ended", async () => {
    const clock = new VirtualClock();
    const arrived = deferred<{ request: IncomingMessage; response: ServerResponse }>();
    const leaderAddress = await listening(
      createServer((request, response) => {
        response.write("first");
        arrived.resolve({ request, response });
      }),
    );
    const address = await node({ observer: leading(leaderAddress), clock });
    const request = httpRequest(`http://${address}`, { method: "POST", agent: false });
    request.write("begun");
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    const { request: seen, response } = await arrived.promise;
    request.end("ended");
    expect(await text(seen)).toBe("begunended");
    await clock.advance(600_000);
    response.end(" last");
    expect(await text(answer)).toBe("first last");
  });

  test("a sender that disconnects ends the request to the leader", async () => {
    const arrived = deferred<IncomingMessage>();
    const leaderAddress = await listening(createServer((request) => arrived.resolve(request)));
    const address = await node({ observer: leading(leaderAddress), clock: new VirtualClock() });
    const request = httpRequest(`http://${address}`, { agent: false }).on("error", () => {});
    request.end();
    const { socket } = await arrived.promise;
    request.destroy();
    await once(socket, "close");
  });

  test("a response that breaks off in the middle breaks off for the sender too", async () => {
    const leader = await leaderNode((_request, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("the beginning");
      setImmediate(() => response.destroy());
    });
    const address = await node({ observer: leading(leader.address) });
    await expect(ask(address)).rejects.toThrow(/aborted/);
  });

  test("the leader's address may be a URL with a path prefix", async () => {
    const leader = await leaderNode();
    const address = await node({ observer: leading(`http://${leader.address}/app/`) });
    await ask(`${address}/jobs`);
    expect(leader.seen[0]?.url).toBe("/app/jobs");
  });

  test("an absolute URL in the request line does not change the destination", async () => {
    const leader = await leaderNode();
    const address = await node({ observer: leading(leader.address) });
    await ask(address, { path: "http://elsewhere.example/jobs?x=1" });
    await ask(address, { path: "//elsewhere.example/jobs" });
    expect(leader.seen.map(({ url }) => url)).toEqual(["/jobs?x=1", "//elsewhere.example/jobs"]);
  });
});

describe("requests at the leader itself", () => {
  test("a node handles a request itself if its own election leads", async () => {
    const address = await node({ observer: leading("127.0.0.1:1"), isLeader: () => true });
    expect((await ask(address)).body).toBe("local");
  });

  test("a node without isLeader handles a request itself if the observer names it as the leader", async () => {
    const address = await node({ observer: leading("127.0.0.1:1", "me") });
    expect((await ask(address)).body).toBe("local");
  });

  test("a node whose own election does not lead answers 503, even if the observer names it as the leader", async () => {
    const address = await node({ observer: leading("127.0.0.1:1", "me"), isLeader: () => false });
    expect(await refusal(address)).toEqual([503, "NO_LEADER", "1"]);
  });
});

describe("requests that cannot be forwarded", () => {
  const refused: [string, Partial<ToLeaderOptions>][] = [
    ["there is no leader", { observer: NOBODY }],
    ["there is no leader in redirect mode", { observer: NOBODY, mode: "redirect" }],
    ["the leader has no address", { observer: leading(null) }],
    ["the leader's address is not a URL", { observer: leading("http://") }],
    ["the leader's address has an unknown scheme", { observer: leading("ftp://leader") }],
    ["the leader's address has credentials", { observer: leading("http://a:b@leader") }],
  ];
  test.each(refused)("a request gets 503 with Retry-After when %s", async (_when, options) => {
    const address = await node(options as ToLeaderOptions);
    expect(await refusal(address)).toEqual([503, "NO_LEADER", "1"]);
  });

  test("a request gets 503 when the leader cannot be reached and nothing was sent", async () => {
    const unused = createTcpServer();
    unused.listen(0, "127.0.0.1");
    await once(unused, "listening");
    const { port } = unused.address() as AddressInfo;
    unused.close();
    const address = await node({ observer: leading(`127.0.0.1:${port}`) });
    expect(await refusal(address, { method: "POST", body: "x" })).toEqual([503, "LEADER_UNREACHABLE", "1"]);
  });

  test("a request gets 502 when the leader breaks off before it answers, because the outcome is unknown", async () => {
    const leader = await leaderNode((request) => request.socket.destroy());
    const address = await node({ observer: leading(leader.address) });
    expect(await refusal(address, { method: "POST", body: "x" })).toEqual([
      502,
      "LEADER_BROKE_OFF",
      undefined,
    ]);
  });

  test("a request gets 504 when the leader does not answer in time", async () => {
    const clock = new VirtualClock();
    const arrived = deferred();
    const leader = await leaderNode(() => arrived.resolve());
    const address = await node({ observer: leading(leader.address), clock, responseTimeoutMs: 500 });
    const answer = refusal(address, { method: "POST", body: "x" });
    await arrived.promise;
    await clock.advance(500);
    expect(await answer).toEqual([504, "LEADER_SILENT", undefined]);
  });

  test("a request gets 503 when no connection is made in time, with or without TLS", async () => {
    const arrived = deferred();
    const silent = createTcpServer((socket) => {
      later(() => socket.destroy());
      arrived.resolve();
    });
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    later(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const clock = new VirtualClock();
    const address = await node({
      observer: leading(`https://127.0.0.1:${port}`),
      clock,
      connectTimeoutMs: 300,
    });
    const answer = refusal(address);
    await arrived.promise;
    await clock.advance(300);
    expect(await answer).toEqual([503, "LEADER_UNREACHABLE", "1"]);
  });

  test("two nodes that each name the other as the leader do not forward a request in a loop", async () => {
    const seen: string[] = [];
    const addresses: string[] = [];
    for (const [index, other] of [1, 0].entries()) {
      const toLeader = nodeToLeader({
        observer: { leader: () => leading(addresses[other] ?? "", `node-${other}`).leader() },
        nodeId: `node-${index}`,
        isLeader: () => false,
      });
      addresses.push(
        await listening(
          createServer((request, response) => {
            seen.push(`node-${index}`);
            void toLeader(request, response);
          }),
        ),
      );
    }
    expect(await refusal(addresses[0] ?? "")).toEqual([503, "NO_LEADER", "1"]);
    expect(seen).toEqual(["node-0", "node-1"]);
  });
});

describe('toLeader with mode "redirect"', () => {
  test('mode "redirect" answers 307 with the same path at the leader', async () => {
    const address = await node({ observer: leading("https://leader.example:8443/app"), mode: "redirect" });
    const answer = await ask(`${address}/jobs?x=1`, { method: "POST", body: "x" });
    expect(answer).toMatchObject({
      status: 307,
      headers: { location: "https://leader.example:8443/app/jobs?x=1", "cache-control": "no-store" },
      body: "",
    });
  });

  test("fetch follows the redirect with method and body", async () => {
    const leader = await leaderNode();
    const address = await node({ observer: leading(leader.address), mode: "redirect" });
    const answer = await fetch(`http://${address}/jobs`, { method: "PUT", body: "work" });
    expect([answer.status, await answer.text()]).toEqual([200, "done"]);
    expect(leader.seen).toMatchObject([{ method: "PUT", url: "/jobs", body: "work" }]);
  });
});

test.each([
  ["observer", {}],
  ["nodeId", { observer: NOBODY, nodeId: "" }],
  ["isLeader", { observer: NOBODY, isLeader: true }],
  ["mode", { observer: NOBODY, mode: "proxy" }],
  ["connectTimeoutMs", { observer: NOBODY, connectTimeoutMs: 0 }],
  ["timeout", { observer: NOBODY, timeout: 5 }],
])("wrong options of nodeToLeader are refused by name: %s", (field, options) => {
  expect(() => nodeToLeader(options as ToLeaderOptions)).toThrow(
    expect.objectContaining({ code: "INVALID_REQUEST", field }),
  );
});
