import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, later, closing, jwks, RecordingLog, testKey, token } from "./auth.test-kit.js";
import { readBearerToken } from "./bearer-token.js";
import { type JwtOptions, JwtVerifier } from "./jwt-verifier.js";

afterEach(cleanUp);

const CLAIMS = { sub: "n1", groups: ["*"], exp: VirtualClock.EPOCH_MS / 1000 + 200_000 };

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

async function open(url: string, options: Partial<JwtOptions> = {}) {
  const clock = new VirtualClock();
  const recorded = new RecordingLog();
  const verifier = closing(
    await JwtVerifier.open({ jwks: url, maxAgeSeconds: 0, ...options }, { clock, log: recorded.log }),
  );
  const verify = async (text: string) => (await verifier.verify(readBearerToken(`Bearer ${text}`))).name;
  return { clock, recorded, verify };
}

const REFUSED = { code: "UNAUTHENTICATED" };

describe("a JWKS at a URL", () => {
  it("a JWKS URL is fetched once for many tokens", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify } = await open(url);
    const texts = await Promise.all([1, 2, 3].map((jti) => token(key, { ...CLAIMS, jti: `${jti}` })));
    expect(await Promise.all(texts.map(verify))).toEqual(["n1", "n1", "n1"]);
    expect(state.asked).toBe(1);
  });

  it("a JWKS URL is fetched again for an unknown key, but not repeatedly", async () => {
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

  it("a JWKS URL that is down leaves the fetched keys in use, and is reported once", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify, clock, recorded } = await open(url);
    await verify(await token(key, CLAIMS));
    state.document = null;
    await clock.advance(300_000);
    await recorded.until(/stay in use/);
    expect(await verify(await token(key, { ...CLAIMS, jti: "later" }))).toBe("n1");
    await clock.advance(1000);
    await expect(verify(await token(testKey("k2"), CLAIMS))).rejects.toMatchObject(REFUSED);
    expect(state.asked).toBe(3);
    expect(recorded.warnings().filter((line) => line.includes("stay in use"))).toHaveLength(1);
    state.document = jwks(key);
    await clock.advance(30_000);
    await recorded.until(/responds again/);
  });

  it("a JWKS URL that is down from the start refuses tokens as BACKEND_UNAVAILABLE, and is retried", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(null);
    const { verify, clock } = await open(url);
    const text = await token(key, CLAIMS);
    const unavailable = { code: "BACKEND_UNAVAILABLE", retryAfterSeconds: 1 };
    await expect(verify(text)).rejects.toMatchObject(unavailable);
    // Callers must not learn where the keys are.
    const told = await verify(text).catch((error: unknown) => String(error));
    expect(told).not.toContain(new URL(url).port);
    // A text that can never be a token is refused without any key.
    for (const junk of ["junk", "a.b", "a.b.c"]) await expect(verify(junk)).rejects.toMatchObject(REFUSED);
    state.document = jwks(key);
    await clock.advance(1000);
    expect(await verify(text)).toBe("n1");
  });

  it("a key that the JWKS URL no longer lists ends its tokens", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify, clock, recorded } = await open(url);
    const text = await token(key, CLAIMS);
    await verify(text);
    state.document = jwks(testKey("k2"));
    await clock.advance(300_000);
    await recorded.until(/new keys/);
    await expect(verify(text)).rejects.toMatchObject(REFUSED);
  });

  it("keys of a JWKS URL that does not answer stay in use no longer than the maximum age", async () => {
    const key = testKey("k1");
    const { state, url } = await provider(jwks(key));
    const { verify, clock, recorded } = await open(url, { keyRefreshSeconds: 60, keyMaxAgeSeconds: 3600 });
    const text = await token(key, CLAIMS);
    await verify(text);
    state.document = null;
    await clock.advance(60_000);
    await recorded.until(/stay in use/);
    await clock.advance(3_540_000);
    expect(await verify(text)).toBe("n1");
    await clock.advance(1000);
    await expect(verify(text)).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE" });
    expect(recorded.warnings().at(-1)).toContain("--jwt-key-max-age");
    state.document = jwks(key);
    await clock.advance(30_000);
    await recorded.until(/responds again/);
    expect(await verify(text)).toBe("n1");
  });

  it("a JWKS over a mebibyte is refused while it is read, and not read to its end", async () => {
    let sent = 0;
    let hangUp = (): void => {};
    const hungUp = new Promise<void>((resolve) => (hangUp = resolve));
    const server = createServer((_request, response) => {
      const chunk = "x".repeat(65_536);
      const send = (): void => {
        while (!response.destroyed && sent < 60 * 1024 * 1024) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", send);
        }
        response.end();
      };
      response.on("close", hangUp);
      send();
    });
    const recorded = await served(server, async (url) => {
      const opened = await open(url);
      await opened.recorded.until(/larger than 1048576 bytes/);
      await hungUp;
      return opened.recorded;
    });
    expect(sent).toBeLessThan(30 * 1024 * 1024);
    expect(recorded.warnings().at(-1)).toContain("tokens cannot be verified");
  });

  it("a redirect of the JWKS URL is not followed", async () => {
    const server = createServer((_request, response) => {
      response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    });
    const recorded = await served(server, async (url) => {
      const opened = await open(url);
      await opened.recorded.until(/returned no usable keys/);
      return opened.recorded;
    });
    expect(recorded.warnings().at(-1)).toContain("HTTP status 302");
  });

  it("a JWKS URL must be http(s) without a user or a password, and no message repeats it", async () => {
    for (const url of [
      "http://",
      "https://svc:S3cretPw@idp.example/jwks?token=abc",
      "https://svc@idp.example/jwks",
      "ftp://svc:S3cretPw@idp.example/jwks",
    ]) {
      const refused = await open(url).then(
        () => "started",
        (error: unknown) => (error as Error).message,
      );
      expect(refused).toMatch(
        /^jwtJwks (?:contains a user name or a password|is neither an http\(s\) URL nor a file)/,
      );
      expect(refused).not.toMatch(/S3cretPw|svc|abc/);
    }
  });

  it("a JWKS URL is shown without its query, and plain http causes a warning", async () => {
    const { recorded } = await open("http://jwks.invalid/keys?token=abc");
    expect(recorded.warnings().join()).toMatch(/http:\/\/jwks\.invalid\/keys\?… is not https/);
    await recorded.until(/returned no usable keys/);
    expect(recorded.lines.join()).not.toContain("abc");
  });
});

async function served<T>(server: Server, use: (url: string) => Promise<T>): Promise<T> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => server.closeAllConnections());
  later(() => void server.close());
  return use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`);
}
