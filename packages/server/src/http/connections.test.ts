/** Connections that never become a request. */
import { once } from "node:events";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { VirtualClock } from "@tenure/core/testing";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { TestAuthority, temporaryFile } from "../auth/auth.test-kit.js";
import { defaultMaxConnections } from "../limits/connection-limit.js";
import { clientErrorHandler } from "./errors.js";
import { elector } from "./http-elector.test-kit.js";
import { ADMIN_TOKEN, cleanUp, later, rawRequest, type Service, serve } from "./service.test-kit.js";

afterEach(cleanUp);

async function serveTls(connectionLimits: object): Promise<{ service: Service; authority: TestAuthority }> {
  const authority = new TestAuthority();
  const { cert, key } = authority.issue("server", "IP.1 = 127.0.0.1");
  const adminTokenFile = temporaryFile("token", ADMIN_TOKEN);
  const given = { tlsCert: cert, tlsKey: key, adminTokenFile, grpc: "127.0.0.1:0" };
  return { service: await serve(given, { connectionLimits }), authority };
}

/** A connection that sends these bytes and never ends by itself. */
async function open(port: number | string, bytes = Buffer.alloc(0)): Promise<Socket> {
  const socket = connect({ port: Number(port), host: "127.0.0.1", allowHalfOpen: true });
  later(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  return socket.resume();
}

function closed(socket: Socket): Promise<unknown> {
  return socket.readableEnded || socket.closed
    ? Promise.resolve()
    : Promise.race([once(socket, "end"), once(socket, "close")]);
}

/** Of HTTP and of gRPC. */
function portsOf({ url, server }: Service): readonly string[] {
  return [new URL(url).port, server.grpcAddress?.split(":")[1] ?? ""];
}

/** The head of a TLS record that announces more bytes than follow. */
const HALF_HELLO = Buffer.from("16030102000100", "hex");

test("a TLS handshake that stalls is cut off after its time limit, on both ports", async () => {
  const { service } = await serveTls({ handshakeMs: 50 });
  const stalled = await Promise.all(portsOf(service).flatMap((port) => [open(port), open(port, HALF_HELLO)]));
  await Promise.all(stalled.map(closed));
});

test("stalled TLS handshakes delay neither other clients nor a stopping server", async () => {
  const { service, authority } = await serveTls({ handshakeMs: 600_000 });
  const stalled = await Promise.all(portsOf(service).flatMap((port) => [open(port), open(port, HALF_HELLO)]));
  const client = await elector([service.url], { token: ADMIN_TOKEN, tls: { caFile: authority.cert } });
  expect(await client.leader("g")).toMatchObject({ leader: null });
  await service.server.close();
  await Promise.all(stalled.map(closed));
});

test("a client whose ClientHello arrives byte by byte is served, on both ports", async () => {
  const { service, authority } = await serveTls({ handshakeMs: 600_000 });
  const ca = readFileSync(authority.cert);
  for (const port of portsOf(service)) {
    const proxy = createTcpServer((client) => {
      // The end of the test resets the connection of the client.
      const server = connect(Number(port), "127.0.0.1", () => void drip().catch(() => {}));
      const drip = async () => {
        for await (const bytes of client as AsyncIterable<Buffer>) {
          for (const byte of bytes) {
            server.write(Buffer.of(byte));
            await new Promise((resolve) => setImmediate(resolve));
          }
        }
      };
      later(() => server.destroy());
      server.on("error", () => {}).pipe(client.on("error", () => {}));
    });
    later(() => proxy.close());
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const through = connectTls({
      port: (proxy.address() as AddressInfo).port,
      host: "127.0.0.1",
      ca,
      ALPNProtocols: ["h2", "http/1.1"],
    });
    later(() => through.destroy());
    await once(through, "secureConnect");
  }
});

test("a request whose head or body does not arrive in time is answered 408", async () => {
  const service = await serve({}, { connectionLimits: { arrivalMs: 100, checkMs: 10 } });
  const head = "POST /v1/groups/g/campaign HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
  for (const late of [head, `${head}content-length: 40\r\n\r\n{"node_id"`]) {
    const socket = await open(new URL(service.url).port, Buffer.from(late));
    let answer = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => (answer += chunk));
    await once(socket, "end");
    expect(answer).toContain("HTTP/1.1 408 ");
  }
});

test("a client that got an error and does not close its side is cut off", async () => {
  const clock = new VirtualClock();
  const server = createServer().on("clientError", clientErrorHandler(clock.process(), 1000));
  later(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = await open((server.address() as AddressInfo).port);
  let answer = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (answer += chunk));
  socket.write("this is not HTTP\r\n\r\n");
  await once(socket, "end");
  expect(answer).toContain("HTTP/1.1 400 ");
  const [held] = await accepted;
  await clock.advance(999);
  expect(held.destroyed).toBe(false);
  await clock.advance(1);
  expect(held.destroyed).toBe(true);
});

describe("the limit of connections", () => {
  test("the connection limit counts all ports together, is logged, and makes room when a connection ends", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => lines.push(line) });
    const service = await serve({ maxConnections: 3, grpc: "127.0.0.1:0" }, { log });
    const [http = "", grpc = ""] = portsOf(service);
    const held = [await open(http), await open(grpc), await open(http)];
    for (const port of [http, grpc, http]) {
      const refused = await open(port).catch(() => null);
      if (refused !== null) await closed(refused);
    }
    const refusals = lines.filter((line) => line.includes("--max-connections"));
    expect(refusals).toHaveLength(1);
    expect(JSON.parse(refusals[0] ?? "")).toMatchObject({ level: 40, max: 3, open: 3, refused: 1 });
    const [first] = held;
    first?.destroy();
    const text = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    // The server notices the end a moment later.
    while (!(await rawRequest(service.url, text)).startsWith("HTTP/1.1 200 "));
    expect(held.slice(1).every(({ readableEnded }) => !readableEnded)).toBe(true);
  });

  test("the default connection limit is derived from the limit of open files", () => {
    const limits = (files: string) =>
      `Limit   Soft Limit   Hard Limit   Units\nMax open files    ${files}    4096    files\n`;
    expect(defaultMaxConnections(limits("200"))).toBe(150);
    expect(defaultMaxConnections(limits("1024"))).toBe(896);
    expect(defaultMaxConnections(limits("1048576"))).toBe(65_536);
    expect(defaultMaxConnections(limits("unlimited"))).toBe(65_536);
    expect(defaultMaxConnections("")).toBe(10_000);
    expect(defaultMaxConnections(null)).toBe(10_000);
    expect(defaultMaxConnections()).toBeGreaterThan(0);
  });
});
