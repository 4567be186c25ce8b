import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { VirtualClock } from "@tenure/core/testing";
import type { JWTPayload } from "jose";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, closing, jwks, RecordingLog, temporaryFile, testKey, token } from "./auth.test-kit.js";
import { readBearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { type JwtOptions, JwtVerifier } from "./jwt-verifier.js";

afterEach(cleanUp);

const NOW = VirtualClock.EPOCH_MS / 1000;
const CLAIMS = { sub: "n1", groups: ["*"], exp: NOW + 60 };
const key = testKey("k1");

interface Opened {
  readonly clock: VirtualClock;
  readonly recorded: RecordingLog;
  readonly path: string;
  verify(text: string): Promise<Caller>;
  /** Whether it answers without verifying the signature again. */
  isRemembered(text: string): boolean;
}

async function open(document: string = jwks(key), options: Omit<JwtOptions, "jwks"> = {}): Promise<Opened> {
  const clock = new VirtualClock();
  const recorded = new RecordingLog();
  const path = temporaryFile("jwks.json", document);
  const verifier = closing(await JwtVerifier.open({ jwks: path, ...options }, { clock, log: recorded.log }));
  const verify = (text: string) => verifier.verify(readBearerToken(`Bearer ${text}`));
  const isRemembered = (text: string) => {
    const answer = verify(text);
    if (!(answer instanceof Promise)) return true;
    answer.catch(() => {});
    return false;
  };
  return { clock, recorded, path, verify: async (text) => verify(text), isRemembered };
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: "UNAUTHENTICATED" });
  return (error as Error).message;
}

/** The next poll. */
async function reread(clock: VirtualClock, recorded: RecordingLog, pattern: RegExp): Promise<void> {
  await clock.advance(30_000);
  await recorded.until(pattern);
}

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("verification of a JWT", () => {
  it("a JWT is verified with a key of any of the three kinds", async () => {
    const keys = [key, testKey("k2", "ES256"), testKey("k3", "RS256")];
    const { verify } = await open(jwks(...keys));
    for (const each of keys) {
      expect(await verify(await token(each, CLAIMS))).toEqual({
        kind: "jwt",
        role: "node",
        name: "n1",
        groups: null,
      });
    }
  });

  it("a JWT without kid is verified by the key that has signed it", async () => {
    const other = testKey("k2");
    const { verify } = await open(jwks(key, other));
    expect((await verify(await token(other, CLAIMS, {}))).name).toBe("n1");
    expect(await refusal(verify(await token(testKey("k3"), CLAIMS, {})))).toContain("signature");
  });

  it("a JWT without a signature is refused", async () => {
    const { verify } = await open();
    for (const alg of ["none", "None", ""]) {
      await refusal(verify(`${base64({ alg, kid: "k1" })}.${base64(CLAIMS)}.`));
      await refusal(verify(`${base64({ alg, kid: "k1" })}.${base64(CLAIMS)}.AAAA`));
    }
    const [header, payload] = (await token(key, CLAIMS)).split(".");
    await refusal(verify(`${header}.${payload}.`));
  });

  it("a JWT signed with the public key as an HMAC secret is refused", async () => {
    for (const alg of ["EdDSA", "ES256", "RS256"] as const) {
      const pair = testKey("k1", alg);
      const { verify } = await open(jwks(pair));
      const input = `${base64({ alg: "HS256", kid: "k1" })}.${base64(CLAIMS)}`;
      const secrets = [
        pair.publicKey.export({ format: "pem", type: "spki" }),
        pair.publicKey.export({ format: "der", type: "spki" }),
        pair.publicKey.export({ format: "jwk" })["x"] ?? "",
      ];
      for (const secret of secrets) {
        const signature = createHmac("sha256", secret).update(input).digest("base64url");
        expect(await refusal(verify(`${input}.${signature}`))).toContain("EdDSA, ES256, RS256");
      }
    }
  });

  it("a JWT signed by another key under a known kid is refused", async () => {
    const { verify } = await open();
    expect(await refusal(verify(await token(testKey("k1"), CLAIMS)))).toContain("signature");
    expect(await refusal(verify(await token(testKey("k9"), CLAIMS)))).toContain("unknown key");
  });

  it("a JWT with changed claims is refused, even after the original was verified", async () => {
    const { verify } = await open();
    const good = await token(key, CLAIMS);
    await verify(good);
    const [header, , signature] = good.split(".");
    const forged = `${header}.${base64({ ...CLAIMS, role: "admin" })}.${signature}`;
    expect(await refusal(verify(forged))).toContain("signature");
  });

  it("a key inside the JWT's own header is not used", async () => {
    const { verify } = await open();
    const mine = testKey("mine");
    const jwk = mine.publicKey.export({ format: "jwk" });
    expect(await refusal(verify(await token(mine, CLAIMS, { jwk })))).toContain("signature");
  });

  it("a JWT must expire, and is refused once it has, with a tolerance of five seconds", async () => {
    const { verify, clock } = await open();
    expect(await refusal(verify(await token(key, { sub: "n1", groups: ["*"] })))).toBe(
      "the token has no exp",
    );
    const text = await token(key, { ...CLAIMS, exp: NOW + 10 });
    await clock.advance(14_999);
    expect((await verify(text)).name).toBe("n1");
    await clock.advance(1);
    expect(await refusal(verify(text))).toBe("the token has expired");
  });

  it("a JWT is refused before its nbf, with a tolerance of five seconds", async () => {
    const { verify, clock } = await open();
    const text = await token(key, { ...CLAIMS, nbf: NOW + 10 });
    expect(await refusal(verify(text))).toContain("not valid yet");
    await clock.advance(5000);
    expect((await verify(text)).name).toBe("n1");
  });

  it("a JWT must have the configured audience and issuer", async () => {
    const { verify } = await open(jwks(key), { issuer: "https://id", audience: "tenure" });
    const right = { ...CLAIMS, iss: "https://id", aud: "tenure" };
    expect((await verify(await token(key, right))).name).toBe("n1");
    expect((await verify(await token(key, { ...right, aud: ["other", "tenure"] }))).name).toBe("n1");
    expect(await refusal(verify(await token(key, { ...right, aud: "other" })))).toContain("aud");
    expect(await refusal(verify(await token(key, { ...right, iss: "https://id.evil" })))).toContain("iss");
    expect(await refusal(verify(await token(key, CLAIMS)))).toMatch(/has no (iss|aud)/);
  });

  it("a text that is not a JWT is refused", async () => {
    const { verify } = await open();
    for (const text of ["x", "a.b.c", "a.b", "....", `${base64({ alg: "EdDSA", kid: "k1" })}.e30.AAAA`]) {
      await refusal(verify(text));
    }
    const critical = await token(key, CLAIMS, { kid: "k1", crit: ["x"], x: 1 }).catch(() => "a.b.c");
    await refusal(verify(critical));
  });
});

describe("the claims of a JWT", () => {
  const caller = async (claims: JWTPayload) => {
    const { verify } = await open();
    return verify(await token(key, { ...CLAIMS, ...claims }));
  };

  it("the claims of a JWT name a node, an observer or an admin", async () => {
    expect(await caller({ role: "node" })).toEqual({ kind: "jwt", role: "node", name: "n1", groups: null });
    expect(await caller({ role: "observer", groups: ["a", "b/*"] })).toEqual({
      kind: "jwt",
      role: "observer",
      name: "n1",
      groups: ["a", "b/*"],
    });
    expect(await caller({ role: "admin", sub: "auth0|ada@example.org" })).toEqual({
      kind: "jwt",
      role: "admin",
      name: "auth0|ada@example.org",
    });
  });

  it("a JWT with any other claims is refused", async () => {
    for (const role of ["root", "Admin", ["admin"], null, 1, ""]) await refusal(caller({ role }));
    for (const sub of ["", "a b", "..", "n".repeat(201), "ü", 7])
      await refusal(caller({ sub: sub as string }));
    for (const groups of ["*", [1], [""], ["a b"], { "*": true }, null]) await refusal(caller({ groups }));
    await refusal(caller({ sub: "ada\u0000", role: "admin" }));
  });

  it("the JWT of a node or observer must list its groups, because a missing list does not mean all groups", async () => {
    expect(await refusal(caller({ groups: undefined }))).toContain('["*"]');
    expect(await refusal(caller({ groups: undefined, role: "observer" }))).toContain('["*"]');
    expect(await caller({ groups: [] })).toEqual({ kind: "jwt", role: "node", name: "n1", groups: [] });
  });

  it("the JWT of an admin cannot be limited to groups", async () => {
    expect(await caller({ role: "admin", groups: undefined })).toEqual({
      kind: "jwt",
      role: "admin",
      name: "n1",
    });
    expect(await refusal(caller({ role: "admin", groups: ["a"] }))).toContain("admin");
  });
});

describe("the lifetime of a JWT", () => {
  const NOW = VirtualClock.EPOCH_MS / 1000;
  const DAY = 86_400;

  async function told(claims: object, options: Partial<JwtOptions> = {}): Promise<string> {
    const { verify } = await open(jwks(key), options);
    return verify(await token(key, { sub: "n1", groups: ["*"], ...claims })).then(
      () => "accepted",
      (error: unknown) => (error as Error).message,
    );
  }

  it("a JWT lives for a day at most, counted from now, with or without iat", async () => {
    expect(await told({ exp: NOW + DAY })).toBe("accepted");
    expect(await told({ exp: NOW + DAY, iat: NOW })).toBe("accepted");
    expect(await told({ exp: NOW + DAY + 60 })).toContain("--jwt-max-age");
    // Issued for a year: refused even in its last hour.
    expect(await told({ exp: NOW + 3600, iat: NOW + 3600 - 365 * DAY })).toContain("31536000 s");
    // An iat in the future does not help.
    expect(await told({ exp: NOW + 2 * DAY, iat: NOW + DAY })).toContain("--jwt-max-age");
  });

  it("--jwt-max-age limits the lifetime of a JWT, and 0 removes the limit", async () => {
    expect(await told({ exp: NOW + 301 }, { maxAgeSeconds: 300 })).toBe("accepted");
    expect(await told({ exp: NOW + 310 }, { maxAgeSeconds: 300 })).toContain("at most 300 s");
    expect(await told({ exp: NOW + 365 * DAY }, { maxAgeSeconds: 0 })).toBe("accepted");
  });

  it("a JWT whose exp is not a date is refused", async () => {
    for (const maxAgeSeconds of [0, 300]) {
      for (const exp of [1e300, Number.MAX_VALUE, 1e15]) {
        expect(await told({ exp }, { maxAgeSeconds })).toContain("is not a date");
      }
    }
  });
});

describe("a JWKS file", () => {
  it("a JWKS file is refused if it has no usable public key or contains a private key", async () => {
    await expect(open("{")).rejects.toThrow("is not JSON");
    for (const text of ["null", "[]", "{}", '{"keys":{}}'])
      await expect(open(text)).rejects.toThrow("is not a JWKS");
    await expect(open('{"keys":[]}')).rejects.toThrow("contains no public key");
    const secret = { kty: "oct", k: "AAAA", kid: "k1" };
    await expect(open(JSON.stringify({ keys: [secret] }))).rejects.toThrow("contains no public key");
    const broken = { kty: "OKP", crv: "Ed25519", x: "AAAA", kid: "k1" };
    await expect(open(JSON.stringify({ keys: [broken] }))).rejects.toThrow(
      "the key k1, which cannot be used",
    );
    const whole = { ...key.privateKey.export({ format: "jwk" }), kid: "k1" };
    await expect(open(JSON.stringify({ keys: [whole] }))).rejects.toThrow("private part of the key k1");
  });

  it("a JWKS file may hold keys of unused kinds", async () => {
    const { keys } = JSON.parse(jwks(key)) as { keys: unknown[] };
    const others = [{ kty: "oct", k: "AAAA" }, { kty: "AKP", alg: "ML-DSA-44" }, "?"];
    const { verify } = await open(JSON.stringify({ keys: [...others, ...keys] }));
    expect((await verify(await token(key, CLAIMS))).name).toBe("n1");
  });

  it("a changed JWKS file is read again, and a withdrawn key ends its tokens, cached or not", async () => {
    const { verify, isRemembered, path, recorded, clock } = await open();
    const old = await token(key, CLAIMS);
    await verify(old);
    expect(isRemembered(old)).toBe(true);
    const next = testKey("k2");
    writeFileSync(path, jwks(next));
    await reread(clock, recorded, /verified with its new keys/);
    expect(await refusal(verify(old))).toContain("unknown key");
    expect((await verify(await token(next, CLAIMS))).name).toBe("n1");
  });

  it("a JWKS file that becomes invalid changes nothing and is reported once", async () => {
    const { verify, path, recorded, clock } = await open();
    writeFileSync(path, "{");
    await reread(clock, recorded, /stay in use/);
    expect((await verify(await token(key, CLAIMS))).name).toBe("n1");
    await clock.advance(30_000);
    expect(recorded.warnings().filter((line) => line.includes("stay in use"))).toHaveLength(1);
  });
});

describe("the cache of verified JWTs", () => {
  it("a verified JWT is cached until it expires", async () => {
    const { verify, isRemembered, clock } = await open();
    const text = await token(key, CLAIMS);
    expect(isRemembered(text)).toBe(false);
    await verify(text);
    expect(isRemembered(text)).toBe(true);
    await clock.advance(65_000);
    expect(isRemembered(text)).toBe(false);
  });

  it("a refused JWT is not cached", async () => {
    const { verify, isRemembered } = await open();
    const text = await token(key, { ...CLAIMS, role: "root" });
    await refusal(verify(text));
    expect(isRemembered(text)).toBe(false);
  });
});
