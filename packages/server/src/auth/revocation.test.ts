/** Credentials that are revoked, on open and on new connections. Real TLS, real files. */
import { once } from "node:events";
import { mkdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { credentials } from "@grpc/grpc-js";
import { type Logger, pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { ADMIN_TOKEN, serve, serveKnown, type Service } from "../http/service.test-kit.js";
import type { TenureServerOptions } from "../options.js";
import {
  cleanUp,
  jwks,
  later,
  RecordingLog,
  temporaryFile,
  TestAuthority,
  testKey,
  token,
} from "./auth.test-kit.js";
import { TlsClient } from "./tls-client.test-kit.js";

afterEach(cleanUp);

const SERVER = ["DNS.1 = localhost", "IP.1 = 127.0.0.1", "URI.1 = spiffe://bank/server/s1"];
const ALICE = "URI.1 = spiffe://bank/admin/alice";
const NODE = Number(process.versions.node.split(".")[0]);
const BOB = "URI.1 = spiffe://bank/admin/bob";

function recording(): { readonly log: Logger; readonly recorded: RecordingLog } {
  const recorded = new RecordingLog();
  const write = (line: string): void => recorded.log.info((JSON.parse(line) as { msg: string }).msg);
  return { recorded, log: pino({ level: "info" }, { write }) };
}

interface Tls {
  readonly service: Service;
  readonly recorded: RecordingLog;
  readonly clientCa: string;
  readonly crl: string;
  readonly trusted: string;
}

/** The CA file and, with `lists`, the revocation lists are files that a test replaces. */
async function serveTls(authorities: readonly TestAuthority[], lists?: string): Promise<Tls> {
  const servers = new TestAuthority("servers");
  const own = servers.issue("server", ...SERVER);
  const clientCa = temporaryFile("clients.crt", pemOf(authorities));
  const crl = temporaryFile("clients.crl", lists ?? "");
  const given: TenureServerOptions = {
    grpc: "127.0.0.1:0",
    tlsCert: own.cert,
    tlsKey: own.key,
    tlsClientCa: clientCa,
    ...(lists === undefined ? {} : { tlsCrl: crl }),
  };
  const { recorded, log } = recording();
  return { service: await serve(given, { log }), recorded, clientCa, crl, trusted: servers.cert };
}

function pemOf(authorities: readonly TestAuthority[]): string {
  return authorities.map(({ cert }) => readFileSync(cert, "utf8")).join("");
}

type Pair = { readonly cert: string; readonly key: string };

function http({ service, trusted }: Tls, pair: Pair, options: object = {}): TlsClient {
  return new TlsClient(service.url, { ca: trusted, ...pair }, options);
}

function grpc({ service, trusted }: Tls, { cert, key }: Pair): GrpcClient {
  const channel = credentials.createSsl(readFileSync(trusted), readFileSync(key), readFileSync(cert));
  return new GrpcClient(service.server.grpcAddress ?? "", channel);
}

/** A stream of events; resolves when its connection has ended. */
async function stream({ service, trusted }: Tls, pair: Pair): Promise<{ readonly ended: Promise<void> }> {
  const agent = new Agent({
    ca: readFileSync(trusted),
    cert: readFileSync(pair.cert),
    key: readFileSync(pair.key),
  });
  const asked = request(`${service.url}/v1/watch`, { agent, headers: { accept: "text/event-stream" } }).end();
  later(() => asked.destroy());
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  expect(answer.statusCode).toBe(200);
  const ended = new Promise<void>((resolve) => answer.on("error", () => {}).on("close", resolve));
  answer.resume();
  return { ended };
}

/** An act that needs an admin. The first one creates the group. */
const PAUSE = "/v1/groups/g/pause";
const CREATING = { create: true };

describe("replacing the client CA", () => {
  it("a replaced client CA ends the identity of open connections over HTTP and gRPC, and their watches", async () => {
    const [before, after] = [new TestAuthority("before"), new TestAuthority("after")];
    const tls = await serveTls([before]);
    const pair = before.issue("alice", ALICE);
    const [alice, aliceByGrpc] = [http(tls, pair), grpc(tls, pair)];
    expect((await alice.post(PAUSE, CREATING)).status).toBe(200);
    expect(await aliceByGrpc.call("Groups/Pause", { group_id: "g" })).toEqual({ ok: true });
    const watch = await stream(tls, pair);
    const watchByGrpc = aliceByGrpc.stream("Election/Watch", { group_id: "g" });
    await watchByGrpc.next();

    writeFileSync(tls.clientCa, pemOf([after]));
    await tls.recorded.until(/lose their identity/);
    await watch.ended;
    expect((await watchByGrpc.end).status).toMatch(/CANCELLED|UNAVAILABLE|INTERNAL/);
    expect(await alice.post(PAUSE, CREATING)).toMatchObject({ status: 401, isReused: true });
    expect((await aliceByGrpc.ask("Groups/Pause", { group_id: "g" })).status).toBe("UNAUTHENTICATED");
    expect((await http(tls, pair).post(PAUSE, CREATING)).status).toBe(401);
    const bob = after.issue("bob", BOB);
    expect((await http(tls, bob).post(PAUSE, CREATING)).status).toBe(200);
    expect(await grpc(tls, bob).call("Groups/Pause", { group_id: "g" })).toEqual({ ok: true });
  });

  it.each(["TLSv1.2", "TLSv1.3"] as const)(
    "a resumed TLS session does not outlive its replaced client CA (%s)",
    async (maxVersion) => {
      const [before, after] = [new TestAuthority("before"), new TestAuthority("after")];
      const tls = await serveTls([before]);
      const alice = http(tls, before.issue("alice", ALICE), { maxVersion, keepAlive: false });
      const resumed: boolean[] = [];
      for (let i = 0; i < 2; i++) {
        const { status, isResumed } = await alice.post(PAUSE, CREATING);
        expect(status).toBe(200);
        resumed.push(isResumed);
      }
      expect(resumed).toEqual([false, true]);
      writeFileSync(tls.clientCa, pemOf([after]));
      await tls.recorded.until(/lose their identity/);
      expect((await alice.post(PAUSE, CREATING)).status).toBe(401);
    },
  );

  it("clients of an authority that stays keep their identity and watches", async () => {
    const [old, added] = [new TestAuthority("old"), new TestAuthority("added")];
    const tls = await serveTls([old]);
    const pair = old.issue("alice", ALICE);
    const alice = http(tls, pair);
    await alice.post(PAUSE, CREATING);
    const watch = await stream(tls, pair);
    let isOver = false;
    void watch.ended.then(() => (isOver = true));
    writeFileSync(tls.clientCa, pemOf([old, added]));
    await tls.recorded.until(/have been renewed/);
    expect(await alice.post(PAUSE, CREATING)).toMatchObject({ status: 200, isReused: true });
    expect((await http(tls, added.issue("bob", BOB)).post(PAUSE, CREATING)).status).toBe(200);
    expect(isOver).toBe(false);
    expect(tls.recorded.lines.join()).not.toContain("lose their identity");
  });
});

describe("a certificate revocation list", () => {
  it("a revoked certificate is refused on open and new connections, and no other certificate is", async () => {
    const authority = new TestAuthority();
    const tls = await serveTls([authority], authority.revocationList(1));
    const [alice, bob] = [authority.issue("alice", ALICE), authority.issue("bob", BOB)];
    const [open, openByGrpc, other] = [http(tls, alice), grpc(tls, alice), http(tls, bob)];
    expect((await open.post(PAUSE, CREATING)).status).toBe(200);
    expect((await other.post(PAUSE, CREATING)).status).toBe(200);
    await openByGrpc.call("Groups/Pause", { group_id: "g" });
    const watch = await stream(tls, alice);

    writeFileSync(tls.crl, authority.revocationList(1, alice.cert));
    await tls.recorded.until(/lose their identity/);
    await watch.ended;
    expect(await open.post(PAUSE, CREATING)).toMatchObject({
      status: 401,
      isReused: true,
      body: { message: expect.stringContaining("revoked") as unknown },
    });
    expect((await openByGrpc.ask("Groups/Pause", { group_id: "g" })).status).toBe("UNAUTHENTICATED");
    expect((await http(tls, alice).post(PAUSE, CREATING)).status).toBe(401);
    expect(await other.post(PAUSE, CREATING)).toMatchObject({ status: 200, isReused: true });
    expect((await http(tls, bob).post(PAUSE, CREATING)).status).toBe(200);
  });

  it("a revocation list that is issued again without new entries ends nothing", async () => {
    const authority = new TestAuthority();
    const [alice, carol] = [authority.issue("alice", ALICE), authority.issue("carol", BOB)];
    const tls = await serveTls([authority], authority.revocationList(1, carol.cert));
    const byGrpc = grpc(tls, alice).stream("Election/Watch", { group_id: "g" });
    await byGrpc.next();
    writeFileSync(tls.crl, authority.revocationList(7, carol.cert));
    await tls.recorded.until(/have been renewed/);
    await grpc(tls, alice).call("Election/Campaign", { group_id: "g", node_id: "n", lease_ttl_ms: 5000 });
    expect((await byGrpc.next()).event).toMatchObject({ leader_node_id: "n" });
  });

  /** Below the root, an intermediate authority that the root's list revokes after a while. */
  function intermediate() {
    const root = new TestAuthority("root");
    const between = new TestAuthority("between", root);
    const alice = between.issue("alice", ALICE);
    return {
      root,
      between,
      lists: root.revocationList(1) + between.revocationList(1),
      alice,
      shown: temporaryFile("chain.crt", readFileSync(alice.cert, "utf8") + pemOf([between])),
      /** Revokes while one connection is open and the session of another can be resumed. */
      async revoke(tls: Tls, cert: string): Promise<void> {
        const client = http(tls, { cert, key: alice.key }, { keepAlive: false });
        for (const isResumed of [false, true, true]) {
          expect(await client.post(PAUSE, CREATING)).toMatchObject({ status: 200, isResumed });
        }
        const open = http(tls, { cert, key: alice.key });
        expect((await open.post(PAUSE, CREATING)).status).toBe(200);
        writeFileSync(tls.crl, root.revocationList(1, between.cert) + between.revocationList(1));
        await tls.recorded.until(/lose their identity/);
        expect(await open.post(PAUSE, CREATING)).toMatchObject({ status: 401, isReused: true });
        expect((await client.post(PAUSE, CREATING)).status).toBe(401);
      },
    };
  }

  it("a revocation list can revoke an intermediate authority that is in the file of client authorities", async () => {
    const { root, between, lists, alice, revoke } = intermediate();
    await revoke(await serveTls([root, between], lists), alice.cert);
  });

  it("a revocation list can revoke an intermediate authority that only the client shows, even for a resumed session that shows only the leaf", async () => {
    const { root, lists, alice, shown, revoke } = intermediate();
    const tls = await serveTls([root], lists);
    if (NODE < 24) return revoke(tls, shown);
    // Node 24 hides from a server what the client shows besides its own certificate.
    expect(await http(tls, { cert: shown, key: alice.key }).post(PAUSE, CREATING)).toMatchObject({
      status: 401,
      body: { message: expect.stringContaining("--tls-client-ca") as unknown },
    });
  });

  it("an unusable revocation list is refused at the start, and later leaves the previous one in use", async () => {
    const authority = new TestAuthority();
    await expect(serveTls([authority], "no list")).rejects.toThrow(
      /clients\.crl contains no PEM revocation list/,
    );
    const pem = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
    await expect(serveTls([authority], pem)).rejects.toThrow(/cannot be read \(number 1\)/);
    const alice = authority.issue("alice", ALICE);
    const tls = await serveTls([authority], authority.revocationList(1, alice.cert));
    unlinkSync(tls.crl);
    await tls.recorded.until(/ENOENT; the previous files stay in use/);
    expect((await http(tls, alice).post(PAUSE, CREATING)).status).toBe(401);
  });
});

describe("revocation of the admin token", () => {
  const ask = (service: Service, bearer = ADMIN_TOKEN) => service.as(bearer).get("/v1/whoami");

  async function open() {
    const { recorded, log } = recording();
    const adminTokenFile = temporaryFile("token", ADMIN_TOKEN);
    const { service } = await serveKnown({ adminTokenFile }, { log });
    return { service, recorded, adminTokenFile };
  }

  it("the admin token is revoked when its file is deleted, even for an open watch, and valid again when it is back", async () => {
    const { service, recorded, adminTokenFile } = await open();
    const watch = await service.as(ADMIN_TOKEN).stream("/v1/watch");
    unlinkSync(adminTokenFile);
    await recorded.until(/ENOENT; the admin token is revoked/);
    expect((await ask(service)).status).toBe(401);
    await expect(readToEnd(watch)).rejects.toThrow();
    writeFileSync(adminTokenFile, ADMIN_TOKEN, { mode: 0o600 });
    await recorded.until(/the new admin token is in use/);
    expect((await ask(service)).status).toBe(200);
  });

  it.each(["", "short", "two words that are no token"])(
    "the admin token is revoked when its file no longer holds a token: %j",
    async (content) => {
      const { service, recorded, adminTokenFile } = await open();
      writeFileSync(adminTokenFile, content);
      await recorded.until(/the admin token is revoked/);
      expect((await ask(service)).status).toBe(401);
    },
  );

  it("the admin token stays valid while its file cannot be read for another reason", async () => {
    const { service, recorded, adminTokenFile } = await open();
    rmSync(adminTokenFile);
    mkdirSync(adminTokenFile);
    await recorded.until(/EISDIR; the previous admin token stays in use/);
    expect((await ask(service)).status).toBe(200);
  });

  it("a rename replaces the admin token without a moment in which neither token is valid", async () => {
    const { service, recorded, adminTokenFile } = await open();
    const next = "another-admin-token-for-tests";
    writeFileSync(`${adminTokenFile}.new`, next, { mode: 0o600 });
    renameSync(`${adminTokenFile}.new`, adminTokenFile);
    let isChanged = false;
    void recorded.until(/the new admin token is in use/).then(() => (isChanged = true));
    while (!isChanged) {
      const statuses = [(await ask(service)).status, (await ask(service, next)).status];
      expect(statuses).toContain(200);
    }
    expect([(await ask(service)).status, (await ask(service, next)).status]).toEqual([401, 200]);
    expect(recorded.lines.join()).not.toContain("revoked");
  });
});

describe("a key withdrawn from the JWKS file", () => {
  it("a withdrawn key is no longer accepted, neither for verified tokens nor for an open watch", async () => {
    const [old, next] = [testKey("old"), testKey("next")];
    const { recorded, log } = recording();
    const jwtJwks = temporaryFile("jwks.json", jwks(old, next));
    const service = await serve({ jwtJwks }, { log });
    const claims = { sub: "ada", role: "admin", exp: Math.floor(Date.now() / 1000) + 600 };
    const [byOld, byNext] = [service.as(await token(old, claims)), service.as(await token(next, claims))];
    expect((await byOld.get("/v1/whoami")).status).toBe(200);
    const [cut, kept] = [await byOld.stream("/v1/watch"), await byNext.stream("/v1/groups/g/watch")];
    writeFileSync(jwtJwks, jwks(next));
    await recorded.until(/verified with its new keys/);
    expect((await byOld.get("/v1/whoami")).status).toBe(401);
    await expect(readToEnd(cut)).rejects.toThrow();
    expect((await kept.event()).data).toMatchObject({ group_id: "g" });
    unlinkSync(jwtJwks);
    await recorded.until(/no token is accepted until the file is back/);
    expect((await byNext.get("/v1/whoami")).status).toBe(401);
  });
});

async function readToEnd(stream: { next(): Promise<unknown> }): Promise<void> {
  while ((await stream.next()) !== null);
}
