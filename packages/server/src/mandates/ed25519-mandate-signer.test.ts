import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { VirtualClock } from "@tenure/core/testing";
import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  type JWK,
  jwtVerify,
} from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, closing, RecordingLog, temporaryFile } from "../auth/auth.test-kit.js";
import { Ed25519MandateSigner } from "./ed25519-mandate-signer.js";
import type { Mandate } from "./mandate-signer.js";

afterEach(cleanUp);

const MANDATE: Mandate = { groupId: "g/1", nodeId: "n1", term: 7, ttlMs: 5000 };
const NOW = VirtualClock.EPOCH_MS / 1000;

const newKey = (): KeyObject => generateKeyPairSync("ed25519").privateKey;
const pem = (key: KeyObject) => key.export({ format: "pem", type: "pkcs8" }) as string;
const jwk = (key: KeyObject) => key.export({ format: "jwk" });

async function open(content: string = pem(newKey()), mode = 0o600) {
  const clock = new VirtualClock();
  const recorded = new RecordingLog();
  const keyFile = temporaryFile("signing.pem", content, mode);
  const signer = closing(await Ed25519MandateSigner.open({ keyFile }, { clock, log: recorded.log }));
  const verify = (mandate: string) =>
    jwtVerify(mandate, createLocalJWKSet({ keys: [...signer.keys()] as JWK[] }), {
      issuer: "tenure",
      algorithms: ["EdDSA"],
      currentDate: new Date(clock.wallMs()),
    });
  return { clock, recorded, keyFile, signer, verify };
}

const kids = (signer: Ed25519MandateSigner) => signer.keys().map(({ kid }) => kid);

describe("a signed mandate", () => {
  it("a mandate names the leader, group and term, and is verified by the published keys", async () => {
    const { signer, verify } = await open();
    const { payload, protectedHeader } = await verify(await signer.sign(MANDATE));
    expect(payload).toEqual({ iss: "tenure", sub: "n1", group: "g/1", term: 7, iat: NOW, exp: NOW + 5 });
    expect(protectedHeader).toEqual({ alg: "EdDSA", kid: signer.keys()[0]?.kid });
  });

  it("a mandate never outlives its lease, for any fraction of a second", async () => {
    const { signer, clock } = await open();
    for (const [stepMs, ttlMs, ageMs] of [
      [0, 5000, 0],
      [999, 1500, 0],
      [1, 500, 0],
      [250, 749, 0],
      [0, 750, 1],
      [750, 60_000, 2500],
    ] as const) {
      await clock.advance(stepMs);
      const { exp = 0, iat = 0 } = decodeJwt(await signer.sign({ ...MANDATE, ttlMs, ageMs }));
      const endMs = clock.wallMs() - ageMs + ttlMs;
      expect(exp * 1000).toBeLessThanOrEqual(endMs);
      expect(exp * 1000).toBeGreaterThan(endMs - 1000);
      expect(iat).toBe(Math.floor(clock.wallMs() / 1000));
      expect([Number.isInteger(exp), Number.isInteger(iat)]).toEqual([true, true]);
    }
  });

  it("a mandate is refused from the end of its last second on", async () => {
    const { signer, verify, clock } = await open();
    const mandate = await signer.sign(MANDATE);
    await clock.advance(4999);
    await verify(mandate);
    await clock.advance(1);
    await expect(verify(mandate)).rejects.toMatchObject({
      code: expect.stringMatching(/EXPIRED|NO_MATCHING/) as unknown,
    });
  });
});

describe("the published signing keys", () => {
  it("the published keys are public, and named by their thumbprint", async () => {
    const key = newKey();
    const { signer } = await open(pem(key));
    const { d: _secret, ...published } = jwk(key);
    const kid = await calculateJwkThumbprint(published);
    expect(signer.keys()).toEqual([
      { kty: "OKP", crv: "Ed25519", x: published["x"], kid, alg: "EdDSA", use: "sig" },
    ]);
  });

  it("a replaced key stays published until the last mandate it has signed is over", async () => {
    const { signer, verify, clock, keyFile, recorded } = await open();
    const [before] = kids(signer);
    const mandate = await signer.sign({ ...MANDATE, ttlMs: 20_000 });
    await signer.sign({ ...MANDATE, ttlMs: 1000 });
    writeFileSync(keyFile, pem(newKey()));
    await signer.look();
    const [after] = kids(signer);
    expect(recorded.lines.at(-1)).toContain(`signed with the key ${after}`);
    expect(kids(signer)).toEqual([after, before]);
    expect(decodeProtectedHeader(await signer.sign(MANDATE)).kid).toBe(after);
    await clock.advance(19_999);
    await verify(mandate);
    expect(kids(signer)).toEqual([after, before]);
    await clock.advance(1);
    expect(kids(signer)).toEqual([after]);
  });

  it("a key that comes back is published once", async () => {
    const { signer, keyFile } = await open();
    const first = readFileSync(keyFile);
    await signer.sign(MANDATE);
    const [kid] = kids(signer);
    writeFileSync(keyFile, pem(newKey()));
    await signer.look();
    await signer.sign(MANDATE);
    const [other] = kids(signer);
    writeFileSync(keyFile, first);
    await signer.look();
    expect(kids(signer)).toEqual([kid, other]);
  });

  it("the next key of a key set is published before it signs", async () => {
    const [now, next] = [newKey(), newKey()];
    const { signer } = await open(JSON.stringify({ keys: [jwk(now), jwk(next)] }));
    expect(signer.keys()).toHaveLength(2);
    expect(decodeProtectedHeader(await signer.sign(MANDATE)).kid).toBe(kids(signer)[0]);
    expect(JSON.stringify(signer.keys())).not.toContain('"d"');
  });
});

describe("the file of the signing key", () => {
  it("a signing key may be a JWK", async () => {
    const key = newKey();
    const [a, b] = [await open(pem(key)), await open(JSON.stringify(jwk(key)))];
    expect(a.signer.keys()).toEqual(b.signer.keys());
    await a.verify(await b.signer.sign(MANDATE));
  });

  it("a signing key must be a private Ed25519 key", async () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    await expect(open(pem(rsa))).rejects.toThrow("kind rsa");
    await expect(open(pem(generateKeyPairSync("x25519").privateKey))).rejects.toThrow("kind x25519");
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const published = publicKey.export({ format: "pem", type: "spki" }) as string;
    await expect(open(published)).rejects.toThrow("contains no private key");
    await expect(open(JSON.stringify(publicKey.export({ format: "jwk" })))).rejects.toThrow("no private JWK");
    for (const text of ["{}", '{"keys":{}}', "{"]) await expect(open(text)).rejects.toThrow("no private JWK");
    await expect(open('{"keys":[]}')).rejects.toThrow("contains no key");
    await expect(open("")).rejects.toThrow("contains no private key");
    const cipher = { cipher: "aes-256-cbc", passphrase: "x" };
    const locked = privateKey.export({ format: "pem", type: "pkcs8", ...cipher }) as string;
    await expect(open(locked)).rejects.toThrow("is encrypted");
  });

  it("a signing key file that becomes invalid changes nothing, and one that others may read causes a warning", async () => {
    const { signer, verify, keyFile, recorded } = await open(undefined, 0o644);
    expect(recorded.warnings()).toEqual([expect.stringContaining("mode 0644")]);
    writeFileSync(keyFile, "?");
    await signer.look();
    await verify(await signer.sign(MANDATE));
    expect(recorded.warnings().at(-1)).toContain("stays in use");
  });
});
