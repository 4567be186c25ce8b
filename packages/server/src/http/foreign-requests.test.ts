/** What browsers send for pages of other sites, and what programs send. The dashboard's tests use a real browser. */
import { type IncomingMessage, request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { foreignRequest, type HostRule } from "./foreign-requests.js";
import { cleanUp, rawRequest, serve, serveKnown, ADMIN_TOKEN } from "./service.test-kit.js";

afterEach(cleanUp);

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** With headers that `fetch` does not allow. */
function send(url: string, { method = "GET", path = "/v1/groups", headers }: Sent) {
  return new Promise<{ status: number; error: unknown; message: unknown }>((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.once("end", () => {
        const isJson = response.headers["content-type"]?.startsWith("application/json") === true;
        const { error, message } = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
        resolve({ status: response.statusCode ?? 0, error, message });
      });
    });
    sent.once("error", reject).end();
  });
}

const FOREIGN = { status: 403, error: "FOREIGN_REQUEST" };

test("a page of another site is refused requests that change something, with and without Origin", async () => {
  const service = await serve();
  const { host } = new URL(service.url);
  const path = "/v1/groups/g/pause";
  for (const headers of [
    { origin: "http://evil.example" },
    { origin: "http://localhost:3000" },
    { origin: "null" },
    { origin: "file://" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site", origin: `http://${host}` },
    { "sec-fetch-site": "same-origin", origin: "http://evil.example" },
  ]) {
    expect(await send(service.url, { method: "POST", path, headers })).toMatchObject(FOREIGN);
  }
  for (const method of ["PATCH", "DELETE", "PUT", "TRACE"]) {
    const headers = { "sec-fetch-site": "cross-site" };
    expect(await send(service.url, { method, path: "/v1/groups/g", headers })).toMatchObject(FOREIGN);
  }
  expect((await service.get("/v1/groups")).body).toMatchObject({ groups: [] });
});

test("requests from the service's own page, from a link to it and from programs are served", async () => {
  const service = await serve();
  const { host, port } = new URL(service.url);
  await service.post("/v1/groups", { group_id: "g" });
  const path = "/v1/groups/g/pause";
  for (const headers of [
    {},
    { origin: `http://${host}`, "sec-fetch-site": "same-origin" },
    { origin: `http://localhost:${port}`, host: `localhost:${port}` },
    { origin: "http://localhost", host: "localhost:80" },
    { "sec-fetch-site": "none" },
  ]) {
    expect((await send(service.url, { method: "POST", path, headers })).status).toBe(200);
  }
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  expect((await send(service.url, { path: "/", headers: link })).status).toBe(200);
});

test("without authentication only Host names of this machine are served, on every route", async () => {
  const service = await serve(
    {},
    {
      extension: {
        mount: (app) => void app.get("/own", { config: { ownIdentity: true } }, () => ({ ok: true })),
      },
    },
  );
  for (const host of ["evil.example", "evil.example:24000", "10.1.2.3", "127.0.0.1.evil.example", "a b"]) {
    for (const path of [
      "/v1/groups",
      "/v1/watch",
      "/",
      "/docs",
      "/healthz",
      "/metrics",
      "/own",
      "/nowhere",
    ]) {
      expect([host, path, await send(service.url, { path, headers: { host } })]).toMatchObject([
        host,
        path,
        FOREIGN,
      ]);
    }
  }
  const { message } = await send(service.url, { headers: { host: "evil.example:24000" } });
  expect(message).toContain("--allowed-hosts evil.example");
  for (const host of [
    "localhost:9000",
    "LOCALHOST",
    "127.0.0.1",
    "127.8.9.1:7420",
    "[::1]:7420",
    "[::1]",
    "",
  ]) {
    expect([host, (await send(service.url, { headers: { host } })).status]).toEqual([host, 200]);
  }
});

test("other Host names can be allowed, for a proxy or with --insecure", async () => {
  const statuses = async (url: string, hosts: readonly string[]) => {
    const found: number[] = [];
    for (const host of hosts) found.push((await send(url, { headers: { host } })).status);
    return found;
  };
  const proxied = await serve({ allowedHosts: ["tenure.example", "Other.example"] });
  expect(
    await statuses(proxied.url, ["tenure.example", "OTHER.example:1", "localhost", "evil.example"]),
  ).toEqual([200, 200, 200, 403]);
  const open = await serve({ listen: "0.0.0.0:0", insecure: true });
  const url = open.url.replace("0.0.0.0", "127.0.0.1");
  expect(
    await statuses(url, ["10.1.2.3:7420", "[fd00::1]:7420", "tenure:7420", "localhost", "evil.example"]),
  ).toEqual([200, 200, 200, 200, 403]);
  const any = await serve({ allowedHosts: ["*"] });
  expect(await statuses(any.url, ["evil.example", "localhost"])).toEqual([200, 200]);
  for (const allowedHosts of [["http://a"], ["a:7420"], [""], ["a", "", "b"], ["a,b"], []]) {
    await expect(serve({ allowedHosts })).rejects.toMatchObject({ field: "allowedHosts" });
  }
});

test("with authentication every Host name is served, unless some are listed", async () => {
  const { service } = await serveKnown();
  const authorization = `Bearer ${ADMIN_TOKEN}`;
  const headers = { host: "tenure.example", authorization };
  expect((await send(service.url, { headers })).status).toBe(200);
  const crossSite = { ...headers, origin: "https://evil.example" };
  expect(
    await send(service.url, { method: "POST", path: "/v1/groups/g/pause", headers: crossSite }),
  ).toMatchObject(FOREIGN);
  const { service: listed } = await serveKnown({ allowedHosts: ["tenure.example"] });
  expect((await send(listed.url, { headers })).status).toBe(200);
  expect(await send(listed.url, { headers: { ...headers, host: "evil.example" } })).toMatchObject(FOREIGN);
});

test("a Host name is judged by the rule of its own server, however many other names were sent before", () => {
  const local: HostRule = { isAuthenticated: false, isLocal: true, allowed: null };
  const proxied: HostRule = { ...local, allowed: ["evil.example"] };
  const isServed = (host: string, rule: HostRule) => {
    const request = { headers: { host }, rawHeaders: ["Host", host], method: "GET" } as IncomingMessage;
    return foreignRequest(request, rule, false) === null;
  };
  const long = `${"a".repeat(300)}.example`;
  for (let index = 0; index < 1000; index++) {
    expect(isServed("localhost:7420", local)).toBe(true);
    expect(isServed("evil.example", local)).toBe(false);
    expect(isServed("evil.example", proxied)).toBe(true);
    expect(isServed(`127.0.${index >> 8}.${index & 255}`, local)).toBe(true);
    expect(isServed(`${index}.example`, proxied)).toBe(false);
    expect(isServed(long, local)).toBe(false);
  }
});

test("two Host headers are refused", async () => {
  const service = await serve();
  const text = "GET /v1/groups HTTP/1.1\r\nHost: localhost\r\nhOST: localhost\r\nConnection: close\r\n\r\n";
  const answer = await rawRequest(service.url, text);
  expect(answer).toContain("HTTP/1.1 400 ");
  expect(answer).toContain('"error":"INVALID_REQUEST"');
  expect(answer).toContain('"field":"host"');
});
