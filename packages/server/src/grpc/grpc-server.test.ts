import { copyFileSync, readFileSync } from "node:fs";
import { connect } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { pino } from "pino";
import { afterEach, expect, it } from "vitest";
import { temporaryFile, TestAuthority } from "../auth/auth.test-kit.js";
import { ADMIN_TOKEN, cleanUp, memory, serve } from "../http/service.test-kit.js";
import { TenureServer } from "../tenure-server.js";
import { GrpcClient, serveGrpc } from "./grpc.test-kit.js";

afterEach(cleanUp);

const SERVER = ["DNS.1 = localhost", "IP.1 = 127.0.0.1", "URI.1 = spiffe://example.org/server/s1"];
const A = { group_id: "g", node_id: "a", lease_ttl_ms: 5000 };

/** A service with TLS, and clients of it with the certificates of the same authority. */
async function serveTls(log?: pino.Logger) {
  const authority = new TestAuthority();
  const own = authority.issue("server", ...SERVER);
  const service = await serve(
    { grpc: "127.0.0.1:0", tlsCert: own.cert, tlsKey: own.key, tlsClientCa: authority.cert },
    log === undefined ? {} : { log },
  );
  const trusted = readFileSync(authority.cert);
  const client = (name?: string): GrpcClient => {
    const pair = name === undefined ? null : authority.issue(name.replaceAll("/", "-"), `URI.1 = ${name}`);
    return new GrpcClient(
      service.server.grpcAddress ?? "",
      pair === null
        ? credentials.createSsl(trusted)
        : credentials.createSsl(trusted, readFileSync(pair.key), readFileSync(pair.cert)),
    );
  };
  return { authority, own, service, client };
}

it("gRPC identifies a node by the client certificate of its connection", async () => {
  const { client } = await serveTls();
  const a = client("spiffe://example.org/sdk/a");
  expect(await a.call("Election/Campaign", A)).toMatchObject({ is_leader: true });
  expect(await a.ask("Election/Campaign", { ...A, node_id: "b" })).toMatchObject({
    status: "PERMISSION_DENIED",
    error: { message: "a may not act as b" },
  });
  expect((await client().ask("Election/Leader", { group_id: "g" })).status).toBe("UNAUTHENTICATED");
  const admin = client("spiffe://example.org/admin/root");
  expect(await admin.call("Groups/Pause", { group_id: "g" })).toEqual({ ok: true });
});

it("a client certificate of another authority identifies no gRPC caller", async () => {
  const { service, authority } = await serveTls();
  const stranger = new TestAuthority().issue("stranger", "URI.1 = spiffe://example.org/admin/root");
  const client = new GrpcClient(
    service.server.grpcAddress ?? "",
    credentials.createSsl(
      readFileSync(authority.cert),
      readFileSync(stranger.key),
      readFileSync(stranger.cert),
    ),
  );
  expect((await client.ask("Election/Leader", { group_id: "g" })).status).toBe("UNAUTHENTICATED");
});

it("gRPC serves a renewed certificate to new connections, and keeps the old ones", async () => {
  let renewed = (): void => {};
  const seen = new Promise<void>((resolve) => {
    renewed = resolve;
  });
  const log = pino({ level: "info" }, { write: (line: string) => line.includes("renewed") && renewed() });
  const { client, own } = await serveTls(log);
  const before = client("spiffe://example.org/sdk/a");
  await before.call("Election/Campaign", A);

  const other = new TestAuthority();
  const next = other.issue("next", ...SERVER);
  copyFileSync(next.cert, own.cert);
  copyFileSync(next.key, own.key);
  await seen;
  const after = new GrpcClient(
    before.client.getChannel().getTarget(),
    credentials.createSsl(readFileSync(other.cert)),
  );
  expect((await after.ask("Election/Leader", { group_id: "g" })).status).toBe("UNAUTHENTICATED");
  const renewal = { group_id: "g", node_id: "a", term: 1, extend_by_ms: 5000 };
  expect(await before.call("Election/Renew", renewal)).toMatchObject({ ok: true });
});

it.each([
  [{}, "ECDHE-ECDSA-AES128-SHA", "refused"],
  [{}, "ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2"],
  [{ tlsMinVersion: "1.3" }, "ECDHE-ECDSA-AES128-GCM-SHA256", "refused"],
] as const)("gRPC has the same TLS settings as HTTPS: %j, %s: %s", async (given, ciphers, expected) => {
  const authority = new TestAuthority();
  const own = authority.issue("server", ...SERVER);
  const service = await serve({
    grpc: "127.0.0.1:0",
    tlsCert: own.cert,
    tlsKey: own.key,
    adminTokenFile: temporaryFile("token", ADMIN_TOKEN),
    ...given,
  });
  for (const address of [service.server.grpcAddress ?? "", new URL(service.url).host]) {
    const [host, port] = address.split(":");
    const ca = readFileSync(authority.cert);
    const socket = connect({
      host,
      port: Number(port),
      ca,
      ciphers,
      maxVersion: "TLSv1.2",
      ALPNProtocols: ["h2", "http/1.1"],
    });
    const got = await new Promise((resolve) => {
      socket.on("error", () => resolve("refused"));
      socket.on("secureConnect", () => resolve(socket.getProtocol()));
    });
    socket.destroy();
    expect([address, got]).toEqual([address, expected]);
  }
});

it("each gRPC answer has a request id, the caller's own if that is valid", async () => {
  const { address, grpc } = await serveGrpc();
  const named = new GrpcClient(address, undefined, { "x-request-id": "mine-1" });
  const fine = await named.ask("Election/Leader", { group_id: "g" });
  expect(fine.trailers).toMatchObject({ "x-request-id": "mine-1" });
  const refused = await named.ask("Election/Leader", { group_id: "" });
  expect(refused.trailers).toMatchObject({ "x-request-id": "mine-1" });
  const strange = new GrpcClient(address, undefined, { "x-request-id": "a b" });
  for (const client of [grpc, strange]) {
    const { trailers } = await client.ask("Election/Leader", { group_id: "g" });
    expect(trailers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  }
});

it("each gRPC call is measured under its method and status", async () => {
  const { http, grpc } = await serveGrpc();
  await grpc.call("Election/Campaign", A);
  await grpc.ask("Election/Renew", { group_id: "g", node_id: "b", term: 1, extend_by_ms: 5000 });
  const count = (method: string, status: number) =>
    http.metric(
      `request_latency_ms_count{route="/tenure.v1.Election/${method}",method="gRPC",status="${status}"}`,
    );
  expect(await count("Campaign", 0)).toBe(1);
  expect(await count("Renew", 9)).toBe(1);
  const stream = grpc.stream("Election/Watch", { group_id: "g" });
  await stream.next();
  stream.call.cancel();
  while ((await count("Watch", 1)) !== 1);
});

it("an address in use is reported in one sentence, and nothing is left open", async () => {
  const { http } = await serveGrpc();
  const taken = http.server.grpcAddress ?? "";
  const options = { listen: "127.0.0.1:0", grpc: taken, logLevel: "silent" } as const;
  const opened = TenureServer.open(options, { store: memory() });
  await expect(opened).rejects.toThrow(`grpc ${taken} cannot be opened: listen EADDRINUSE`);
});

it("gRPC refuses to serve other machines without authentication", async () => {
  const options = { listen: "127.0.0.1:0", grpc: "0.0.0.0:0", logLevel: "silent" } as const;
  await expect(TenureServer.open(options, { store: memory() })).rejects.toThrow(/^grpc is 0\.0\.0\.0/);
});

it("the server has no gRPC by default", async () => {
  expect((await serve()).server.grpcAddress).toBeNull();
});
