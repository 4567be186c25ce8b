import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualClock } from "@tenure/core/testing";
import { type JSONWebKeySet, type JWTPayload, SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import type { MandateKeys } from "./key-source.js";
import { MandateVerifier, type MandateVerifierOptions } from "./mandate-verifier.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

interface Key {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

const NOW = VirtualClock.EPOCH_MS / 1000;
const CLAIMS = { iss: "tenure", sub: "n1", group: "g/1", term: 7, iat: NOW, exp: NOW + 5 };
const VERIFIED = { groupId: "g/1", nodeId: "n1", term: 7, expiresAtMs: (NOW + 5) * 1000 };

const newKey = (kid: string): Key => ({ kid, ...generateKeyPairSync("ed25519") });
const jwks = (...keys: Key[]): JSONWebKeySet => ({
  keys: keys.map(({ kid, publicKey }) => ({
    ...(publicKey.export({ format: "jwk" }) as { kty: string }),
    kid,
    alg: "EdDSA",
    use: "sig",
  })),
});
const sign = ({ kid, privateKey }: Key, claims: JWTPayload = CLAIMS): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", kid }).sign(privateKey);

function open(keys: MandateKeys, more: Partial<MandateVerifierOptions> = {}) {
  const clock = new VirtualClock();
  return { clock, verifier: new MandateVerifier({ keys, clock, ...more }) };
}

const invalid = (problem: string) => ({ code: "INVALID_MANDATE", problem });

describe("verification of a mandate", () => {
  const key = newKey("k1");

  test("a genuine mandate names the leader, group, term and end", async () => {
    const { verifier } = open(jwks(newKey("k0"), key), { issuer: "tenure" });
    expect(await verifier.verify(await sign(key))).toEqual(VERIFIED);
  });

  test("a mandate for another group, node or term than expected is refused", async () => {
    const { verifier } = open(jwks(key));
    const token = await sign(key);
    expect(await verifier.verify(token, { groupId: "g/1", nodeId: "n1", term: 7 })).toEqual(VERIFIED);
    for (const [expected, named] of [
      [{ groupId: "g/2" }, "groupId"],
      [{ nodeId: "n2" }, "nodeId"],
      [{ term: 8 }, "term"],
    ] as const) {
      await expect(verifier.verify(token, expected)).rejects.toMatchObject({
        ...invalid("mismatch"),
        message: expect.stringContaining(named) as unknown,
      });
    }
  });

  test("a mandate is over at its end to the millisecond, plus leewayMs", async () => {
    const token = await sign(key);
    for (const leewayMs of [0, 250, 1000]) {
      const { verifier, clock } = open(jwks(key), { leewayMs });
      await clock.advance(4999 + leewayMs);
      await verifier.verify(token);
      await clock.advance(1);
      await expect(verifier.verify(token)).rejects.toMatchObject({
        code: "MANDATE_EXPIRED",
        expiresAtMs: VERIFIED.expiresAtMs,
      });
    }
  });

  test("a mandate with a missing or invalid claim is refused", async () => {
    const { verifier } = open(jwks(key), { issuer: "tenure" });
    for (const wrong of [
      { iss: "other" },
      { iss: undefined },
      { sub: undefined },
      { sub: "a b" },
      { group: undefined },
      { group: ["g/1"] },
      { term: undefined },
      { term: "7" },
      { term: 0 },
      { term: 1.5 },
      { exp: undefined },
      { exp: "soon" },
    ]) {
      const token = await sign(key, { ...CLAIMS, ...wrong } as JWTPayload);
      const [claim] = Object.keys(wrong) as [string];
      await expect(verifier.verify(token), JSON.stringify(wrong)).rejects.toMatchObject({
        ...invalid("claims"),
        message: expect.stringContaining(claim) as unknown,
      });
    }
  });

  test("a mandate that was signed by another key, or changed, is refused", async () => {
    const { verifier } = open(jwks(key));
    const forged = await sign({ ...newKey("k1"), kid: "k1" });
    await expect(verifier.verify(forged)).rejects.toMatchObject(invalid("signature"));
    const [header, , signature] = (await sign(key)).split(".");
    const raised = Buffer.from(JSON.stringify({ ...CLAIMS, term: 99 })).toString("base64url");
    await expect(verifier.verify(`${header}.${raised}.${signature}`)).rejects.toMatchObject(
      invalid("signature"),
    );
    await expect(verifier.verify(await sign(newKey("k9")))).rejects.toMatchObject(invalid("unknown-key"));
  });

  test("a mandate that is unsigned, signed by the public key as a secret, or not a token is refused", async () => {
    const { verifier } = open(jwks(key));
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const secret = key.publicKey.export({ format: "der", type: "spki" });
    const hmac = await new SignJWT(CLAIMS).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret);
    for (const token of [
      `${part({ alg: "none", kid: "k1" })}.${part(CLAIMS)}.`,
      hmac,
      "",
      "x",
      "a.b.c",
      undefined as unknown as string,
    ]) {
      await expect(verifier.verify(token)).rejects.toMatchObject(invalid("malformed"));
    }
  });

  test("a mandate without a kid is accepted if there is only one key", async () => {
    const token = await new SignJWT(CLAIMS).setProtectedHeader({ alg: "EdDSA" }).sign(key.privateKey);
    expect(await open(jwks(key)).verifier.verify(token)).toEqual(VERIFIED);
    const { verifier } = open(jwks(key, newKey("k2")));
    await expect(verifier.verify(token)).rejects.toMatchObject(invalid("unknown-key"));
  });
});

describe("the keys of mandates", () => {
  test("the keys may be in a file, which is read again for an unknown key", async () => {
    const [first, second] = [newKey("k1"), newKey("k2")];
    const directory = mkdtempSync(join(tmpdir(), "tenure-fence-"));
    undo.push(() => rmSync(directory, { recursive: true }));
    const file = join(directory, "jwks.json");
    const { verifier, clock } = open({ file });
    await expect(verifier.verify(await sign(first))).rejects.toMatchObject({ code: "FENCE_UNAVAILABLE" });
    writeFileSync(file, JSON.stringify(jwks(first)));
    await clock.advance(1000);
    expect(await verifier.verify(await sign(first))).toEqual(VERIFIED);
    writeFileSync(file, JSON.stringify(jwks(second)));
    await clock.advance(10_000);
    const token = await sign(second, { ...CLAIMS, exp: NOW + 60 });
    expect(await verifier.verify(token)).toMatchObject({ term: 7 });
  });

  test("unusable keys are refused in a sentence that names the key", () => {
    const key = newKey("k1");
    const [published] = jwks(key).keys;
    const secret = { keys: [{ ...published, ...(key.privateKey.export({ format: "jwk" }) as object) }] };
    expect(() => open(secret)).toThrow("private part of the key k1");
    const broken = { keys: [{ kty: "OKP", crv: "Ed25519", x: "AA", kid: "b" }] };
    expect(() => open(broken)).toThrow("the key b, which cannot be used");
    expect(() => open({} as JSONWebKeySet)).toThrow("no list");
    expect(() => open(null as unknown as JSONWebKeySet)).toThrow("keys must be a JWKS");
    expect(() => open({ url: "ftp://x/" })).toThrow("keys.url must be an http or https URL");
    expect(() => open({ file: "" })).toThrow("keys.file");
    expect(() => open({ url: "http://x/", file: "y" })).toThrow("url is not known here");
    expect(() => open(jwks(key), { leewayMs: 90_000 })).toThrow("from 0 to 60000");
    expect(() => open(jwks(key), { audience: "x" } as object)).toThrow("audience is not known here");
  });

  test("keys of kinds that sign no mandates are skipped", async () => {
    const key = newKey("k1");
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { keys } = jwks(key);
    const mixed = { keys: [publicKey.export({ format: "jwk" }) as { kty: string }, ...keys] };
    expect(await open(mixed).verifier.verify(await sign(key))).toEqual(VERIFIED);
    const { verifier } = open({ keys: [] });
    await expect(verifier.verify(await sign(key))).rejects.toMatchObject(invalid("unknown-key"));
  });
});

/** A service whose answer a test may change; `null` is a failure, "never" no answer. */
async function serviceOf(document: JSONWebKeySet | null) {
  const state = { document, asked: 0, isSilent: false };
  const server = createServer((_request, response) => {
    state.asked++;
    if (state.isSilent) return;
    response.writeHead(state.document === null ? 500 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(state.document));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/keys`;
  return { state, url };
}

const LONG = { ...CLAIMS, exp: NOW + 3600 };

describe("the keys of mandates at a URL", () => {
  test("keys at a URL are fetched once for many mandates", async () => {
    const key = newKey("k1");
    const { state, url } = await serviceOf(jwks(key));
    const { verifier } = open({ url });
    expect(state.asked).toBe(0);
    const token = await sign(key);
    await Promise.all(Array.from({ length: 20 }, () => verifier.verify(token)));
    expect(state.asked).toBe(1);
  });

  test("keys at a URL are fetched again for an unknown key, but not repeatedly", async () => {
    const [first, second] = [newKey("k1"), newKey("k2")];
    const { state, url } = await serviceOf(jwks(first));
    const { verifier, clock } = open({ url });
    await verifier.verify(await sign(first));
    state.document = jwks(first, second);
    const token = await sign(second, LONG);
    await expect(verifier.verify(token)).rejects.toMatchObject(invalid("unknown-key"));
    expect(state.asked).toBe(1);
    await clock.advance(10_000);
    expect(await verifier.verify(token)).toMatchObject({ term: 7 });
    expect(state.asked).toBe(2);
    const strange = await sign(newKey("k9"), LONG);
    await Promise.all(
      Array.from({ length: 20 }, () =>
        expect(verifier.verify(strange)).rejects.toMatchObject(invalid("unknown-key")),
      ),
    );
    expect(state.asked).toBe(2);
  });

  test("keys at a URL stay in use while the service does not answer", async () => {
    const key = newKey("k1");
    const { state, url } = await serviceOf(jwks(key));
    const { verifier, clock } = open({ url });
    await verifier.verify(await sign(key, LONG));
    state.document = null;
    await clock.advance(600_000);
    expect(await verifier.verify(await sign(key, LONG))).toMatchObject({ term: 7 });
    await clock.advance(1000);
    await expect(verifier.verify(await sign(newKey("k2"), LONG))).rejects.toMatchObject(
      invalid("unknown-key"),
    );
  });

  test("keys at a URL are dropped once the service has answered without them", async () => {
    const key = newKey("k1");
    const { state, url } = await serviceOf(jwks(key));
    const { verifier, clock } = open({ url });
    const token = await sign(key, LONG);
    await verifier.verify(token);
    state.document = jwks(newKey("k2"));
    await clock.advance(600_000);
    // The first mandate after ten minutes starts the fetch and does not wait for it.
    await verifier.verify(token);
    const strange = await sign(newKey("k3"), LONG);
    await expect(verifier.verify(strange)).rejects.toMatchObject(invalid("unknown-key"));
    await expect(verifier.verify(token)).rejects.toMatchObject(invalid("unknown-key"));
    expect(state.asked).toBe(2);
  });

  test("mandates are undecided while the keys were never fetched, and verified once they are", async () => {
    const key = newKey("k1");
    const { state, url } = await serviceOf(null);
    const { verifier, clock } = open({ url });
    const token = await sign(key);
    await expect(verifier.verify(token)).rejects.toMatchObject({
      code: "FENCE_UNAVAILABLE",
      message: expect.stringContaining(url) as unknown,
      cause: expect.any(Error) as unknown,
    });
    state.document = jwks(key);
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: "FENCE_UNAVAILABLE" });
    expect(state.asked).toBe(1);
    await clock.advance(1000);
    expect(await verifier.verify(token)).toEqual(VERIFIED);
  });

  test("an aborted signal ends the wait for the keys", async () => {
    const { state, url } = await serviceOf(null);
    state.isSilent = true;
    const abort = new AbortController();
    const { verifier } = open({ url });
    const waiting = verifier.verify(await sign(newKey("k1")), {}, { signal: abort.signal });
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
