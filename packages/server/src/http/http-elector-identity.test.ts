/** How the client's elector authenticates. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { TLSSocket } from "node:tls";
import { HttpElector, UnauthenticatedError } from "@tenure/client";
import { BackendUnavailableError, systemClock, UnauthorizedError } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, expect, test } from "vitest";
import { temporaryFile, TestAuthority } from "../auth/auth.test-kit.js";
import { candidate, elector, Reader } from "./http-elector.test-kit.js";
import { ADMIN_TOKEN, cleanUp, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

const SERVER = ["DNS.1 = localhost", "IP.1 = 127.0.0.1", "URI.1 = spiffe://test/server/s1"];

async function serveTls(authority: TestAuthority, given: object = {}) {
  const { cert, key } = authority.issue("server", ...SERVER);
  return serve({ tlsCert: cert, tlsKey: key, ...given });
}

test("an admin token allows the operator's verbs, and a node's own token does not", async () => {
  const { service, bearer } = await serveKnown();
  const admin = await elector([service.url], { token: ADMIN_TOKEN });
  await admin.createGroup({ groupId: "g" });
  const node = await elector([service.url], {
    token: await bearer({ sub: "a", role: "node", groups: ["*"] }),
  });
  await expect(node.pause({ groupId: "g" })).rejects.toThrow(UnauthorizedError);
  expect(await node.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
  await expect(node.campaign(candidate("g", "b"))).rejects.toThrow(UnauthorizedError);
});

test("a refused token is requested again, once for all refused calls", async () => {
  const { service, bearer } = await serveKnown();
  const outdated = await bearer({ sub: "a", role: "node", groups: ["*"], exp: 1 });
  const good = await bearer({ sub: "a", role: "node", groups: ["*"] });
  let asked = 0;
  const client = await elector([service.url], { token: async () => (++asked === 1 ? outdated : good) });
  const watch = new Reader(client.watch("g"));
  await Promise.all([watch.next(), ...Array.from({ length: 10 }, () => client.leader("g"))]);
  expect(asked).toBe(2);
});

test("a token that stays bad is UNAUTHENTICATED after one more try", async () => {
  const { service } = await serveKnown();
  let asked = 0;
  const client = await elector([service.url], { token: () => `bad-${++asked}` });
  await expect(client.leader("g")).rejects.toThrow(UnauthenticatedError);
  expect(asked).toBe(2);
  await expect(new Reader(client.watch("g")).next()).rejects.toThrow(UnauthenticatedError);
  const nobody = await elector([service.url]);
  await expect(nobody.leader("g")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("a token function that throws rejects the call with its error, and a later call works", async () => {
  const { service } = await serveKnown();
  let isWell = false;
  const client = await elector([service.url], {
    token: () => {
      if (isWell) return ADMIN_TOKEN;
      throw new Error("the issuer is away");
    },
  });
  const refused = client.leader("g");
  await expect(refused).rejects.toThrow(BackendUnavailableError);
  await expect(refused).rejects.toThrow("the issuer is away");
  isWell = true;
  expect(await client.leader("g")).toMatchObject({ leader: null });
});

test("a token from a file is read again when the file has changed", async () => {
  const { service, bearer } = await serveKnown();
  const tokenFile = temporaryFile("jwt", `${await bearer({ sub: "a", role: "node", groups: ["*"] })}\n`);
  const client = await elector([service.url], { tokenFile });
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
  writeFileSync(tokenFile, "outdated");
  await expect(client.campaign(candidate("g", "b"))).rejects.toThrow();
  writeFileSync(tokenFile, await bearer({ sub: "b", role: "node", groups: ["*"] }));
  let result = await client.campaign(candidate("g", "b")).catch((error: unknown) => error);
  // The file is checked once a second if the service does not refuse the token.
  while (result instanceof UnauthorizedError) {
    result = await client.campaign(candidate("g", "b")).catch((error: unknown) => error);
  }
  expect(result).toMatchObject({ kind: "lost" });
});

test("a token file that is empty while it is written leaves the last token in use", async () => {
  const { service, bearer } = await serveKnown();
  const tokenFile = temporaryFile("jwt", await bearer({ sub: "a", role: "node", groups: ["*"] }));
  const clock = new VirtualClock();
  const client = await elector([service.url], {
    tokenFile,
    // Files are checked by this clock; nothing else here needs time.
    clock: { ...systemClock, monotonicMs: () => clock.monotonicMs() },
  });
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
  writeFileSync(tokenFile, "");
  await clock.advance(1000);
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ confirmed: true });
  writeFileSync(tokenFile, await bearer({ sub: "b", role: "node", groups: ["*"] }));
  await clock.advance(1000);
  expect(await client.campaign(candidate("g", "b"))).toMatchObject({ kind: "lost" });
});

test("a server's certificate is accepted over TLS only if a trusted CA signed it", async () => {
  const authority = new TestAuthority();
  const service = await serveTls(authority, { adminTokenFile: temporaryFile("token", ADMIN_TOKEN) });
  const ca = readFileSync(authority.cert, "utf8");
  const client = await elector([service.url], { token: ADMIN_TOKEN, tls: { ca } });
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
  const watch = new Reader(client.watch("g"));
  expect(await watch.next()).toMatchObject({ leaderNodeId: "a" });
  for (const tls of [{}, { caFile: new TestAuthority().cert }]) {
    const stranger = await elector([service.url], { token: ADMIN_TOKEN, tls });
    const refused = stranger.leader("g");
    await expect(refused).rejects.toThrow(BackendUnavailableError);
    await expect(refused).rejects.toThrow(/certificate/);
  }
});

test("a client certificate names the node, and a new one is used once its files have changed", async () => {
  const authority = new TestAuthority();
  const service = await serveTls(authority, { tlsClientCa: authority.cert });
  const own = authority.issue("a", "URI.1 = spiffe://test/sdk/a");
  const next = authority.issue("b", "URI.1 = spiffe://test/sdk/b");
  const clock = new VirtualClock();
  const client = await elector([service.url], {
    tls: { caFile: authority.cert, certFile: own.cert, keyFile: own.key },
    // Files are checked by this clock; nothing else here needs time.
    clock: { ...systemClock, monotonicMs: () => clock.monotonicMs() },
  });
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected" });
  await expect(client.campaign(candidate("h", "b"))).rejects.toThrow(UnauthorizedError);
  // The certificate first: until its key is there too, the old pair stays in use.
  copyFileSync(next.cert, own.cert);
  await clock.advance(1000);
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ confirmed: true });
  copyFileSync(next.key, own.key);
  await clock.advance(1000);
  expect(await client.campaign(candidate("h", "b"))).toMatchObject({ kind: "elected" });
  await expect(client.campaign(candidate("g", "a"))).rejects.toThrow(UnauthorizedError);
});

test.each(["TLSv1.2", "TLSv1.3"] as const)(
  "a certificate names the node on connections that resume a session too (%s)",
  async (maxVersion) => {
    const authority = new TestAuthority();
    const service = await serveTls(authority, { tlsClientCa: authority.cert });
    const { cert, key } = authority.issue("a", "URI.1 = spiffe://test/sdk/a");
    const [ca, own] = [readFileSync(authority.cert), { cert: readFileSync(cert), key: readFileSync(key) }];
    const agent = new Agent({ keepAlive: false, maxVersion, ca, ...own });
    const resumed: boolean[] = [];
    for (let i = 0; i < 3; i++) {
      const asked = request(`${service.url}/v1/groups/g/leader`, { agent }).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      expect(answer.statusCode).toBe(200);
      resumed.push((asked.socket as TLSSocket).isSessionReused());
      await once(answer.resume(), "end");
    }
    expect(resumed).toEqual([false, true, true]);
  },
);

test("a client without a certificate is UNAUTHENTICATED at a service that requires one", async () => {
  const authority = new TestAuthority();
  const service = await serveTls(authority, { tlsClientCa: authority.cert });
  const client = await elector([service.url], { tls: { caFile: authority.cert } });
  await expect(client.leader("g")).rejects.toThrow(UnauthenticatedError);
});

test("unusable TLS files are refused when the elector is opened", async () => {
  const open = (tls: object) => HttpElector.open({ endpoints: ["https://127.0.0.1:1"], tls });
  await expect(open({ caFile: "/nonexistent" })).rejects.toMatchObject({ field: "tls.caFile" });
  await expect(open({ cert: "no certificate", key: "no key" })).rejects.toMatchObject({ field: "tls" });
});

test("a service with a signing key returns a mandate with each lease", async () => {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ format: "pem", type: "pkcs8" }) as string;
  const service = await serve({ signingKey: temporaryFile("key.pem", pem) });
  const client = await elector([service.url]);
  const mandate = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string;
  expect(await client.campaign(candidate("g", "a"))).toMatchObject({ kind: "elected", mandate });
  const renewal = { groupId: "g", nodeId: "a", term: 1, ttlMs: 20_000 };
  expect(await client.renew(renewal)).toMatchObject({ kind: "renewed", mandate });
});
