/** The audit log of a running service, over HTTP and gRPC. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { ADMIN_TOKEN, cleanUp, serve, serveKnown } from "../http/service.test-kit.js";
import { temporaryDirectory, TestAuthority } from "../auth/auth.test-kit.js";
import { TlsClient } from "../auth/tls-client.test-kit.js";
import { auditedLog } from "./audit.test-kit.js";

afterEach(cleanUp);

async function open() {
  const { log, lines } = auditedLog("silent");
  const known = await serveKnown({ grpc: "127.0.0.1:0" }, { log });
  const grpc = (token?: string): GrpcClient =>
    new GrpcClient(
      known.service.server.grpcAddress ?? "",
      undefined,
      token === undefined ? {} : { authorization: `Bearer ${token}` },
    );
  return { ...known, lines, grpc };
}

it("operator actions refused to a node are audited, even with the log at silent", async () => {
  const { service, bearer, grpc, lines } = await open();
  const token = await bearer({ sub: "n1", role: "node", groups: ["*"] });
  const node = service.as(token);
  await node.post("/v1/groups", { group_id: "g" });
  await node.ask("PATCH", "/v1/groups/g", { allowed_nodes: [] });
  await node.ask("DELETE", "/v1/groups/g");
  await node.post("/v1/groups/g/step-down", { reason: "mine" }, { headers: { "x-request-id": "r-4" } });
  await node.post("/v1/groups/g/transfer", { to_node_id: "n1" });
  await node.post("/v1/groups/g/pause");
  await node.post("/v1/groups/g/resume");
  const caller = { kind: "jwt", role: "node", name: "n1" };
  expect(lines.map((line) => line["act"])).toEqual([
    "create-group",
    "update-group",
    "delete-group",
    "step-down",
    "transfer",
    "pause",
    "resume",
  ]);
  for (const line of lines) {
    expect(line).toMatchObject({
      event: "admin-act",
      caller,
      group_id: "g",
      outcome: "UNAUTHORIZED",
      remote_address: "127.0.0.1",
      transport: "http",
    });
  }
  expect(lines[3]).toMatchObject({ request_id: "r-4", details: { reason: "mine" } });
  lines.length = 0;
  await grpc(token).ask("Groups/Pause", { group_id: "g" });
  expect(lines).toMatchObject([
    { event: "admin-act", act: "pause", caller, transport: "grpc", remote_address: "127.0.0.1" },
  ]);
  expect(lines[0]?.["request_id"]).toMatch(/^[0-9a-f-]{36}$/);
});

it("an admin's actions in the name of a node are audited, renewals once a term", async () => {
  const { service, grpc, lines } = await open();
  const admin = service.as(ADMIN_TOKEN);
  await admin.campaign("g", "n1");
  for (let i = 0; i < 5; i++) await admin.renew("g", "n1", 1);
  await admin.post("/v1/renew", {
    renewals: [{ group_id: "g", node_id: "n1", term: 1, extend_by_ms: 5000 }],
  });
  await admin.campaign("g", "n2");
  await admin.campaign("g", "n2");
  await admin.resign("g", "n1", 1);
  await grpc(ADMIN_TOKEN).call("Election/Campaign", { group_id: "g", node_id: "n3", lease_ttl_ms: 5000 });
  expect(lines.map((line) => [line["act"], line["node_id"], line["term"], line["outcome"]])).toEqual([
    ["campaign", "n1", 1, "won"],
    ["renew", "n1", 1, "done"],
    ["campaign", "n2", 1, "lost"],
    ["resign", "n1", 1, "done"],
    ["campaign", "n3", 2, "won"],
  ]);
  const caller = { kind: "admin-token", role: "admin", name: "admin-token" };
  for (const line of lines) expect(line).toMatchObject({ event: "acting-as", caller });
});

it("a node that tries to act as another, even within a batch, or in a group it may not see, is audited", async () => {
  const { service, bearer, lines } = await open();
  const node = service.as(await bearer({ sub: "n1", role: "node", groups: ["team-a/*"] }));
  await node.campaign("team-a/x", "n2");
  await node.post("/v1/renew", {
    renewals: [{ group_id: "team-a/y", node_id: "n2", term: 1, extend_by_ms: 5000 }],
  });
  await node.leader("secret");
  await node.campaign("team-a/x", "n1");
  expect(lines.map((line) => [line["event"], line["act"], line["group_id"], line["outcome"]])).toEqual([
    ["acting-as", "campaign", "team-a/x", "UNAUTHORIZED"],
    ["acting-as", "renew", "team-a/y", "UNAUTHORIZED"],
    ["access-denied", "leader", "secret", "UNAUTHORIZED"],
  ]);
});

it("failed logins are audited with the address and the kind of credential, and never the credential", async () => {
  const { service, bearer, grpc, lines } = await open();
  const expired = await bearer({ sub: "n1", role: "admin", exp: 1 });
  const ask = (authorization?: string) =>
    service.get("/v1/whoami", authorization === undefined ? {} : { headers: { authorization } });
  await ask();
  await ask("Basic c2VjcmV0OnNlY3JldA==");
  await ask("Bearer not-the-admin-token");
  await ask(`Bearer ${expired}`);
  await grpc(expired).ask("Election/Leader", { group_id: "g" });
  expect(
    lines.map(({ event, caller, transport }) => [event, (caller as { kind: string }).kind, transport]),
  ).toEqual([
    ["login-failed", "none", "http"],
    ["login-failed", "other", "http"],
    ["login-failed", "admin-token", "http"],
    ["login-failed", "jwt", "http"],
    ["login-failed", "jwt", "grpc"],
  ]);
  for (const line of lines)
    expect(line).toMatchObject({ remote_address: "127.0.0.1", outcome: "UNAUTHENTICATED" });
  expect(lines[3]).toMatchObject({ reason: "the token has expired" });
  const text = JSON.stringify(lines);
  for (const secret of ["c2VjcmV0", "not-the-admin-token", expired]) expect(text).not.toContain(secret);
});

it("the audit log goes to its own file, which only its owner may read, and survives a restart", async () => {
  const file = join(temporaryDirectory(), "audit.log");
  for (const group of ["g", "h"]) {
    const { service } = await serveKnown({ auditLog: file });
    await service.as(ADMIN_TOKEN).post(`/v1/groups/${group}/pause`);
    await service.server.close();
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { group_id: string }).group_id)).toEqual(["g", "h"]);
  await expect(serve({ auditLog: join(file, "no-directory") })).rejects.toThrow(
    /^auditLog .* cannot be written/,
  );
});

it("the audit log distinguishes an admin's JWT with the subject admin-token from the shared token", async () => {
  const { service, bearer, lines } = await open();
  await service.as(ADMIN_TOKEN).post("/v1/groups/g/pause");
  await service.as(await bearer({ sub: "admin-token", role: "admin" })).post("/v1/groups/g/pause");
  expect(lines.map((line) => line["caller"])).toEqual([
    { kind: "admin-token", role: "admin", name: "admin-token" },
    { kind: "jwt", role: "admin", name: "admin-token" },
  ]);
});

it("a client certificate that was not verified is audited with the reason", async () => {
  const [ours, foreign] = [new TestAuthority(), new TestAuthority()];
  const own = ours.issue("server", "IP.1 = 127.0.0.1", "URI.1 = spiffe://bank/server/s1");
  const { log, lines } = auditedLog();
  const given = { tlsCert: own.cert, tlsKey: own.key, tlsClientCa: ours.cert };
  const service = await serve(given, { log });
  const stranger = foreign.issue("stranger", "URI.1 = spiffe://bank/admin/mallory");
  const client = new TlsClient(service.url, { ca: ours.cert, ...stranger });
  expect((await client.get("/v1/whoami")).status).toBe(401);
  expect((await new TlsClient(service.url, { ca: ours.cert }).get("/v1/whoami")).status).toBe(401);
  expect(lines).toMatchObject([
    {
      event: "login-failed",
      caller: { kind: "certificate" },
      reason: expect.stringContaining("UNABLE_TO") as unknown,
    },
    { event: "login-failed", caller: { kind: "none" } },
  ]);
});
