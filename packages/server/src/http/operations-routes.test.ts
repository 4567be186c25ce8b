import { VERBS } from "@tenure/api";
import { VirtualClock } from "@tenure/core/testing";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { ADMIN_TOKEN, cleanUp, rawRequest, serve, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

/** As docs/HTTP.md has them. */
const ROUTES = Object.values(VERBS).map(({ method, path }) => `${method} ${path}`);

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, { readonly description?: string }>>;
}

describe("GET /openapi.json", () => {
  test("the OpenAPI document lists every route, as the documentation page does, each with its parameters and answers", async () => {
    const service = await serve();
    const { body } = await service.get("/openapi.json");
    expect(body["openapi"]).toMatch(/^3\.1\./);
    const operations = Object.entries(body["paths"] as Record<string, Record<string, Operation>>).flatMap(
      ([path, verbs]) =>
        Object.entries(verbs).map(([verb, operation]) => ({
          name: `${verb.toUpperCase()} ${path}`,
          operation,
        })),
    );
    const names = operations.map(({ name }) => name).filter((name) => !name.startsWith("HEAD"));
    expect(names.toSorted()).toEqual(ROUTES.toSorted());
    const page = readFileSync(new URL("../../../../docs/HTTP.md", import.meta.url), "utf8");
    const told = [...page.matchAll(/^\| `([A-Z]+ \/\S+)`/gm)].map(([, name = ""]) => name);
    expect(told.toSorted()).toEqual(ROUTES.toSorted());
    for (const { name, operation } of operations) {
      const inPath = operation.parameters?.filter((parameter) => parameter.in === "path") ?? [];
      expect([name, inPath.map((parameter) => [parameter.name, parameter.required])]).toEqual([
        name,
        name.includes("{group_id}") ? [["group_id", true]] : [],
      ]);
      expect([name, operation.summary]).toEqual([name, expect.stringMatching(/./)]);
      for (const [status, { description }] of Object.entries(operation.responses)) {
        expect([name, status, typeof description]).toEqual([
          name,
          expect.stringMatching(/^([1-5]\d\d|[1-5]XX|default)$/),
          "string",
        ]);
      }
    }
  });
});

test("/docs is a page that loads nothing from other hosts", async () => {
  const service = await serve();
  const { status, headers, body } = await service.get("/docs");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("content-security-policy")).toContain("default-src 'none'; connect-src 'self'");
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  expect(body).toContain('fetch("/openapi.json")');
  expect(body).not.toMatch(/(src|href)="https?:/);
});

test("every answer has headers against content sniffing, framing and caching", async () => {
  const { service } = await serveKnown();
  const admin = service.as(ADMIN_TOKEN);
  const stream = await admin.stream("/v1/groups/g/watch");
  const answers = [
    await admin.get("/v1/groups"),
    await admin.campaign("g", "a"),
    await admin.get("/metrics"),
    await service.get("/v1/groups"),
    await service.get("/nowhere"),
    await service.get("/v1/groups/%C3/leader"),
    await service.get("/healthz"),
    await service.get("/openapi.json"),
    await service.get("/docs"),
    stream.response,
  ];
  for (const { headers } of answers) {
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("cache-control")).toBe("no-store");
  }
  const [head = ""] = (await rawRequest(service.url, "what is this?\r\n\r\n")).split("\r\n\r\n");
  expect(head).toContain("x-content-type-options: nosniff\r\n");
});

describe("a request id", () => {
  test("a short and plain request id is kept, and any other is replaced", async () => {
    const service = await serve();
    const idOf = async (given?: string) => {
      const headers = given === undefined ? {} : { "x-request-id": given };
      return (await service.get("/v1/groups/g/leader", { headers })).headers.get("x-request-id");
    };
    expect(await idOf("abc-1.2:3_4")).toBe("abc-1.2:3_4");
    for (const given of [undefined, "a b", "x".repeat(101), "<script>"]) {
      expect(await idOf(given)).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  test("a refusal has a request id", async () => {
    const service = await serve();
    for (const path of ["/nowhere", "/v1/groups/%C3/leader", "/v1/groups?limit=0"]) {
      const { headers } = await service.get(path, { headers: { "x-request-id": "mine" } });
      expect(headers.get("x-request-id")).toBe("mine");
    }
  });
});

test("GET /v1/whoami returns the caller's identity, and is refused without credentials", async () => {
  const anonymous = await serve();
  expect((await anonymous.get("/v1/whoami")).body).toEqual({ name: "loopback", role: "admin", groups: null });
  const { service, bearer } = await serveKnown();
  const asked = async (caller: string) => (await service.as(caller).get("/v1/whoami")).body;
  expect(await asked(ADMIN_TOKEN)).toEqual({ name: "admin-token", role: "admin", groups: null });
  const observer = await bearer({ sub: "olivia", role: "observer", groups: ["team/*"] });
  expect(await asked(observer)).toEqual({ name: "olivia", role: "observer", groups: ["team/*"] });
  const refused = await service.get("/v1/whoami");
  expect([refused.status, refused.body["error"]]).toEqual([401, "UNAUTHENTICATED"]);
});

test("GET /v1/server describes the server to every authenticated caller", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const clock = new VirtualClock();
  const open = await serve({}, { clock });
  const startedAtMs = clock.wallMs();
  await clock.advance(1500);
  const expected = { version, store: "memory", started_at_ms: startedAtMs, docs_url: "/docs" };
  expect((await open.get("/v1/server")).body).toEqual({
    ...expected,
    now_ms: startedAtMs + 1500,
    auth: "none",
  });
  const { service, bearer } = await serveKnown();
  const narrow = await bearer({ sub: "olivia", role: "observer", groups: ["team/*"] });
  expect((await service.as(narrow).get("/v1/server")).body).toMatchObject({ version, auth: "required" });
  expect((await service.get("/v1/server")).status).toBe(401);
});

test("without a signing key the service publishes no keys", async () => {
  const service = await serve();
  expect((await service.get("/v1/keys")).body).toEqual({ keys: [] });
});
