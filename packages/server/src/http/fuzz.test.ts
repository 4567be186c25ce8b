/**
 * Every route, asked what its own schema admits and what it does not: it answers soon, never with a fault of the server,
 * and always in the shape of an error where it refuses.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as shapes from "../wire/shapes.js";
import { type Schema, schemaArbitrary, spoiledArbitrary } from "./schema-arbitrary.test-kit.js";
import { cleanUp, rawRequest, type Service, serve } from "./service.test-kit.js";

interface Route {
  readonly method: string;
  readonly path: string;
  readonly params?: object;
  readonly query?: object;
  readonly body?: object;
}

const one = (method: string, verb: string, body?: object, query?: object): Route => ({
  method,
  path: `/v1/groups/:group_id${verb}`,
  params: shapes.GroupParams,
  ...(query === undefined ? {} : { query: query }),
  ...(body === undefined ? {} : { body: body }),
});

const ROUTES: readonly Route[] = [
  one("POST", "/campaign", shapes.CampaignBody),
  one("POST", "/renew", shapes.RenewBody),
  one("POST", "/resign", shapes.ResignBody),
  one("GET", "/leader", undefined, shapes.LeaderQuery),
  one("GET", "/watch", undefined, shapes.WatchQuery),
  one("GET", ""),
  one("PATCH", "", shapes.GroupPatch),
  one("DELETE", "", undefined, shapes.DeleteQuery),
  one("GET", "/members"),
  one("POST", "/heartbeat", shapes.HeartbeatBody),
  one("POST", "/step-down", shapes.StepDownBody),
  one("POST", "/transfer", shapes.TransferBody),
  one("POST", "/pause", shapes.OptionalPauseBody),
  one("POST", "/resume", shapes.NoBody),
  one("GET", "/history"),
  { method: "POST", path: "/v1/renew", body: shapes.RenewManyBody },
  { method: "POST", path: "/v1/groups", body: shapes.GroupBody },
  { method: "GET", path: "/v1/groups", query: shapes.GroupsQuery },
  { method: "GET", path: "/v1/watch", query: shapes.WatchQuery },
  { method: "GET", path: "/v1/keys" },
  { method: "GET", path: "/healthz" },
];

/** What waits is given this long at most, so that a run does not. */
const MOST_WAIT_MS = 20;
const ANSWER_WITHIN_MS = 5000;
const VALID_RUNS = 60;
const SPOILED_RUNS = 120;

let service: Service;
let asked = 0;
beforeAll(async () => {
  service = await serve();
});
afterAll(async () => {
  console.log(
    Object.entries((globalThis as any).dist)
      .sort()
      .map(String)
      .join("\n"),
  );
  await cleanUp();
  // 21 routes, both ways.
  expect(asked).toBeGreaterThan(3500);
});

/** Nothing is to wait long: not a campaign, not a transfer, not a poll. */
function hasten(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const hastened: Record<string, unknown> = { ...value };
  for (const key of ["wait_ms", "timeout_ms"]) {
    const given = hastened[key];
    if (typeof given === "number" && given > MOST_WAIT_MS && given <= 60_000) hastened[key] = MOST_WAIT_MS;
    if (typeof given === "string" && Number(given) > MOST_WAIT_MS) hastened[key] = String(MOST_WAIT_MS);
  }
  return hastened;
}

function queryText(path: string, query: unknown): string {
  const given = typeof query === "object" && query !== null ? Object.entries(query) : [];
  const entries = given.map(([key, value]): [string, string] => [key, toText(value)]);
  if (path.endsWith("/watch") && !entries.some(([key]) => key === "timeout_ms")) {
    entries.push(["timeout_ms", String(MOST_WAIT_MS)]);
  }
  return entries.length === 0 ? "" : `?${new URLSearchParams(entries).toString()}`;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Half a surrogate pair has no encoding: it is sent as the bytes of something else. */
function encode(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "\ufffd"));
}

interface Sent {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly contentType?: string;
}

async function check({ method, path }: Route, { params, query, body, contentType }: Sent): Promise<void> {
  asked++;
  const id = (params as { group_id?: unknown } | null)?.group_id ?? "g";
  // "." and ".." would be taken out of the path by the client.
  const encoded = encode(toText(id)).replace(/^\.{1,2}$/, "%20");
  const url = path.replace(":group_id", encoded) + queryText(path, hasten(query));
  const text = typeof body === "string" && contentType !== undefined ? body : JSON.stringify(hasten(body));
  const hasBody = method !== "GET" && body !== undefined;
  const { status, body: reply } = await service.ask(method, url, hasBody ? text : undefined, {
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    ...(contentType === undefined ? {} : { headers: { "content-type": contentType } }),
  });
  (globalThis as any).dist ??= {};
  const k = `${method} ${path} ${status} ${String((reply as any).error ?? "")}`;
  (globalThis as any).dist[k] = ((globalThis as any).dist[k] ?? 0) + 1;
  if (status >= 200 && status < 300) return;
  expect([method, url, text, status]).not.toContain(500);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(reply).toMatchObject({
    ok: false,
    error: expect.stringMatching(/^[A-Z_]+$/) as string,
    message: expect.stringMatching(/./) as string,
  });
}

describe.each(ROUTES)("$method $path", (route) => {
  const none = fc.constant(undefined);
  const parts = (of: (schema: Schema) => fc.Arbitrary<unknown>) => ({
    params: route.params === undefined ? none : of(route.params as Schema),
    query: route.query === undefined ? none : of(route.query as Schema),
    body: route.body === undefined ? none : of(route.body as Schema),
  });

  test("answers whatever its schema admits", () =>
    fc.assert(
      fc.asyncProperty(fc.record(parts(schemaArbitrary)), (sent) => check(route, sent)),
      { numRuns: VALID_RUNS },
    ));

  test("refuses whatever it does not, in the shape of an error", () => {
    const valid = parts(schemaArbitrary);
    const spoiled = parts(spoiledArbitrary);
    const sent = fc.oneof(
      fc.record(spoiled),
      fc.record({ ...valid, body: spoiled.body }),
      fc.record({ ...valid, query: spoiledArbitrary((route.query ?? {}) as Schema) }),
      fc.record({ ...valid, params: fc.record({ group_id: fc.string({ unit: "binary", maxLength: 700 }) }) }),
      fc.record({
        ...valid,
        body: fc.oneof(
          fc.string({ unit: "binary", maxLength: 200 }),
          fc.constantFrom(
            "{",
            "[[[",
            '{"a":1e999}',
            `${"[".repeat(30_000)}`,
            '"',
            "nul",
            '{"__proto__":{}}',
            "\ufeff{}",
          ),
          fc.constantFrom(`{"metadata":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}`, " ".repeat(70_000)),
        ),
        contentType: fc.constantFrom(
          "application/json",
          "application/json; charset=x",
          "text/plain",
          "x/y",
          "multipart/form-data",
        ),
      }),
    );
    return fc.assert(
      fc.asyncProperty(sent, (each) => check(route, each)),
      { numRuns: SPOILED_RUNS },
    );
  });
});

test("bytes that no client sends are answered or cut off, and the service lives on", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "DELETE", "OPTIONS", "TRACE", "get", "🙂", ""),
      fc.string({ unit: "binary-ascii", maxLength: 60 }),
      fc.constantFrom("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", ""),
      fc.string({ unit: "binary-ascii", maxLength: 60 }),
      async (method, path, version, rest) => {
        asked++;
        const head = `${method} /v1/groups/${path} ${version}\r\nhost: x\r\nconnection: close\r\n`;
        const got = await rawRequest(service.url, `${head}${rest}\r\n\r\n`);
        expect(got).not.toContain("HTTP/1.1 500");
        if (got.startsWith("HTTP/1.1 4")) expect(got).toContain('"ok":false');
      },
    ),
    { numRuns: 200 },
  );
  expect((await service.get("/healthz")).status).toBe(200);
});
