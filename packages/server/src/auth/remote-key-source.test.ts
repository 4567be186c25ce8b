import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, later, closing, jwks, RecordingLog, testKey, token } from "./auth.test-kit.js";
import { readBearerToken } from "./bearer-token.js";
import { JwtVerifier } from "./jwt-verifier.js";

afterEach(cleanUp);

const CLAIMS = { sub: "n1", groups: ["*"], exp: VirtualClock.EPOCH_MS / 1000 + 100_000 };

/** An identity provider whose answer a test may change; `null` is a failure. */
async function provider(document: string | null) {
  const state = { document, asked: 0 };
  const server: Server = createServer((_request, response) => {
    state.asked++;
    response.writeHead(state.document === null ? 500 : 200).end(state.document ?? "down");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => void server.close());
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks` };
}

async function open(url: string) {
  const clock = new VirtualClock();
  const recorded = new RecordingLog();
  const verifier = closing(
    await JwtVerifier.open({ jwks: url, audience: undefined }, { clock, log: recorded.log }),
  );
  const verify = async (text: string) => (await verifier.verify(readBearerToken(`Bearer ${text}`))).name;
  return { clock, recorded, verify };
}

const REFUSED = { code: "UNAUTHENTICATED" };

describe("a JWKS at a URL", () => {
  it("is fetched once for many tokens", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify } = await open(url);
    const texts = await Promise.all([1, 2, 3].map((jti) => token(key, { ...CLAIMS, jti: `${jti}` })));
    expect(await Promise.all(texts.map(verify))).toEqual(["n1", "n1", "n1"]);
    expect(state.asked).toBe(1);
  });

  it("is fetched again for a key that is not known, but not again and again", async () => {
    const [first, second] = [testKey("k1"), testKey("k2")];
    const { state, url } = await provider(jwks(first));
    const { verify, clock } = await open(url);
    await verify(await token(first, CLAIMS));
    state.document = jwks(first, second);
    const text = await token(second, CLAIMS);
    await expect(verify(text)).rejects.toMatchObject(REFUSED);
    expect(state.asked).toBe(1);
    await clock.advance(10_000);
    expect(await verify(text)).toBe("n1");
    expect(state.asked).toBe(2);
    await Promise.all(
      [1, 2, 3].map(async () =>
        expect(verify(await token(testKey("k9"), CLAIMS))).rejects.toMatchObject(REFUSED),
      ),
    );
    expect(state.asked).toBe(2);
  });

  it("that is down leaves the keys in use that were fetched, and is reported once", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify, clock, recorded } = await open(url);
    await verify(await token(key, CLAIMS));
    state.document = null;
    await clock.advance(600_000);
    await recorded.until(/stay in use/);
    expect(await verify(await token(key, { ...CLAIMS, jti: "later" }))).toBe("n1");
    await clock.advance(1000);
    await expect(verify(await token(testKey("k2"), CLAIMS))).rejects.toMatchObject(REFUSED);
    expect(state.asked).toBe(3);
    expect(recorded.warnings().filter((line) => line.includes("stay in use"))).toHaveLength(1);
    state.document = jwks(key);
    await clock.advance(30_000);
    await recorded.until(/answers again/);
  });

  it("that is down from the start refuses tokens in a sentence, and comes up by itself", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(null);
    const { verify, clock } = await open(url);
    const text = await token(key, CLAIMS);
    await expect(verify(text)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining(url) as unknown,
    });
    state.document = jwks(key);
    await clock.advance(1000);
    expect(await verify(text)).toBe("n1");
  });

  it("ends the tokens of a key that it no longer lists", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify, clock, recorded } = await open(url);
    const text = await token(key, CLAIMS);
    await verify(text);
    state.document = jwks(testKey("k2"));
    await clock.advance(600_000);
    await recorded.until(/new keys/);
    await expect(verify(text)).rejects.toMatchObject(REFUSED);
  });

  it("must be a URL, and one over plain http is warned about", async () => {
    await expect(open("http://")).rejects.toThrow("is not a URL");
    const { recorded } = await open("http://jwks.invalid/");
    expect(recorded.warnings().join()).toContain("is not https");
  });
});
