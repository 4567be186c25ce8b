import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import Fastify from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { temporaryFile } from "../auth/auth.test-kit.js";
import { handleError } from "./errors.js";
import { pageRoutes } from "./page-routes.js";
import { cleanUp, type Client, serve } from "./service.test-kit.js";
import { chooseEncoding } from "./static-page.js";

afterEach(cleanUp);

/** As on the wire: `fetch` would decompress it. */
async function raw(service: Client, path: string, headers: Record<string, string> = {}, method = "GET") {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const sent = request(service.url + path, { headers, method, agent: false }, (response) => {
        const { statusCode: status = 0, headers: told } = response;
        buffer(response).then((body) => resolve({ status, headers: told, body }), reject);
      });
      sent.once("error", reject).end();
    },
  );
}

async function assetsOf(service: Client): Promise<string[]> {
  const html = (await raw(service, "/")).body.toString("utf8");
  return [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
}

describe("the dashboard at /", () => {
  test("the dashboard is served to any caller, with a policy that allows nothing inline and nothing from other hosts", async () => {
    const service = await serve({ adminTokenFile: temporaryFile("token", "0123456789abcdef") });
    expect((await service.get("/v1/groups")).status).toBe(401);
    const { status, headers, body } = await raw(service, "/");
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("text/html; charset=utf-8");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|https?:/);
    expect(body.toString("utf8")).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|style=|https?:/);
    for (const path of await assetsOf(service)) expect((await raw(service, path)).status).toBe(200);
  });

  test("the dashboard page is revalidated by its ETag, and sent only if it has changed", async () => {
    const service = await serve();
    const first = await raw(service, "/");
    expect(first.headers["cache-control"]).toBe("no-cache");
    const tag = String(first.headers["etag"]);
    const again = await raw(service, "/", { "if-none-match": `"other", W/${tag}` });
    expect([again.status, again.body.length, again.headers["etag"]]).toEqual([304, 0, tag]);
    expect((await raw(service, "/", { "if-none-match": '"other"' })).status).toBe(200);
    // Each encoding is a different answer, with a different tag.
    expect((await raw(service, "/", { "if-none-match": tag, "accept-encoding": "br" })).status).toBe(200);
  });

  test("the dashboard's assets have content-hashed names and are cached for good", async () => {
    const service = await serve();
    const assets = await assetsOf(service);
    expect(assets).toHaveLength(3);
    for (const path of assets) {
      expect(path).toMatch(/-[\w-]{8}\.(?:js|css|svg)$/);
      const { headers } = await raw(service, path);
      expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  test("the dashboard is compressed as the caller accepts it, with the same content", async () => {
    const service = await serve();
    for (const path of ["/", ...(await assetsOf(service))]) {
      const plain = await raw(service, path);
      const br = await raw(service, path, { "accept-encoding": "gzip, br" });
      const gzip = await raw(service, path, { "accept-encoding": "gzip, br;q=0" });
      expect([plain, br, gzip].map(({ headers }) => headers["content-encoding"])).toEqual([
        undefined,
        "br",
        "gzip",
      ]);
      expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
      expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
      expect(plain.headers["vary"]).toBe("accept-encoding");
    }
  });

  test("the dashboard answers HEAD without a body, and unknown paths with 404", async () => {
    const service = await serve();
    const { status, body } = await raw(service, "/", {}, "HEAD");
    expect([status, body.length]).toEqual([200, 0]);
    for (const path of ["/assets/none.js", "/assets/..%2Findex.html", "/index.html"]) {
      const answer = await service.get(path);
      expect([answer.status, answer.body["error"]]).toEqual([404, "NOT_FOUND"]);
    }
  });

  test("the dashboard route says that the dashboard is not built", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tenure-page-"));
    const app = Fastify();
    app.setErrorHandler(handleError);
    await pageRoutes(app, directory);
    const answer = await app.inject("/");
    await app.close();
    rmSync(directory, { recursive: true });
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      404,
      "the dashboard is not built; run npm run build, then start again",
    ]);
  });
});

test.each([
  [undefined, "identity"],
  ["", "identity"],
  ["gzip", "gzip"],
  ["gzip, deflate, br, zstd", "br"],
  ["BR;q=0.5, gzip;q=1", "br"],
  ["br;q=0, gzip; q=0.000", "identity"],
  ["browser", "identity"],
] as const)("the encoding for Accept-Encoding %j is %s", (accepted, encoding) => {
  expect(chooseEncoding(accepted)).toBe(encoding);
});
