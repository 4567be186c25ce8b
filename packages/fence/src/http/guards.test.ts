import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import fastify from "fastify";
import { type JSONWebKeySet, SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryTermCell, type TermCell } from "../gate/term-cell.js";
import { TermGate } from "../gate/term-gate.js";
import { MandateVerifier } from "../mandates/mandate-verifier.js";
import { fastifyFence } from "./fastify-fence.js";
import { admissionOf, type HttpFenceOptions } from "./http-fence.js";
import { expressFence, nodeFence } from "./node-fence.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0)) await step();
});

interface Guarded {
  readonly url: string;
  /** The errors that were not shown to callers. */
  readonly faults: unknown[];
}

type Options = HttpFenceOptions<{ readonly headers: IncomingMessage["headers"] }>;

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A resource in three frameworks: each answers an admitted request with its admission. */
const houses: [string, (options: Options) => Promise<Guarded>][] = [
  [
    "node:http",
    async (options) => {
      const fence = nodeFence(options);
      const faults: unknown[] = [];
      const url = await listen((request, response) => {
        fence(request, response).then(
          (isAdmitted) => {
            if (isAdmitted) response.end(JSON.stringify(admissionOf(request)));
          },
          (error: unknown) => {
            faults.push(error);
            response.writeHead(500).end();
          },
        );
      });
      return { url, faults };
    },
  ],
  [
    "middleware",
    async (options) => {
      const fence = expressFence(options);
      const faults: unknown[] = [];
      const url = await listen((request, response) => {
        fence(request, response, (error) => {
          if (error === undefined) return response.end(JSON.stringify(admissionOf(request)));
          faults.push(error);
          return response.writeHead(500).end();
        });
      });
      return { url, faults };
    },
  ],
  [
    "Fastify",
    async (options) => {
      const app = fastify();
      undo.push(() => app.close());
      const faults: unknown[] = [];
      app.addHook("onError", async (_request, _reply, error) => {
        faults.push(error);
      });
      app.post("/", { onRequest: fastifyFence(options) }, async (request) => admissionOf(request));
      return { url: await app.listen({ port: 0, host: "127.0.0.1" }), faults };
    },
  ],
];

const key = generateKeyPairSync("ed25519");
const jwks = { keys: [{ ...key.publicKey.export({ format: "jwk" }), kid: "k" }] } as JSONWebKeySet;
const mandates = new MandateVerifier({ keys: jwks });
const mandate = (claims: object = {}): Promise<string> =>
  new SignJWT({ sub: "n1", group: "billing", term: 7, ...claims })
    .setProtectedHeader({ alg: "EdDSA", kid: "k" })
    .setExpirationTime((claims as { exp?: number }).exp ?? "1h")
    .sign(key.privateKey);

async function post(url: string, headers: Record<string, string>) {
  const response = await fetch(url, { method: "POST", headers });
  const text = await response.text();
  const body = (text === "" ? null : JSON.parse(text)) as Record<string, unknown> | null;
  return { status: response.status, headers: response.headers, body };
}

const gateOver = (cell: TermCell = new MemoryTermCell()): TermGate => new TermGate({ cell });

describe.each(houses)("a resource behind the fence, in %s", (_, open) => {
  test("a guard admits the leading term, passes it to the handler, and refuses an older one with 409", async () => {
    const { url } = await open({ gate: gateOver(), groupId: "billing" });
    const first = await post(url, { "Tenure-Term": "7" });
    expect(first).toMatchObject({ status: 200, body: { groupId: "billing", term: 7 } });
    expect((await post(url, { "Tenure-Term": "8", "Tenure-Group": "billing" })).status).toBe(200);
    const stale = await post(url, { "Tenure-Term": "7" });
    expect(stale.status).toBe(409);
    expect(stale.headers.get("content-type")).toMatch(/^application\/json/);
    expect(stale.body).toEqual({
      ok: false,
      error: "STALE_TERM",
      message: "term 7 of group billing is over: term 8 has been admitted",
      group_id: "billing",
      term: 7,
      highest_term: 8,
    });
  });

  test("a guard answers 400 in a sentence that names the header", async () => {
    const { url } = await open({ gate: gateOver(), groupId: "billing" });
    for (const [headers, named] of [
      [{}, "Tenure-Term is missing"],
      [{ "Tenure-Term": "" }, "Tenure-Term"],
      [{ "Tenure-Term": "0" }, "Tenure-Term"],
      [{ "Tenure-Term": "-3" }, "Tenure-Term"],
      [{ "Tenure-Term": "7.0" }, "Tenure-Term"],
      [{ "Tenure-Term": "0x7" }, "Tenure-Term"],
      [{ "Tenure-Term": "7, 8" }, "Tenure-Term"],
      [{ "Tenure-Term": "9007199254740993" }, "Tenure-Term"],
      [{ "Tenure-Term": "7", "Tenure-Group": "reports" }, "Tenure-Group must be billing"],
    ] as [Record<string, string>, string][]) {
      const { status, body } = await post(url, headers);
      expect(status).toBe(400);
      expect(body).toMatchObject({ ok: false, error: "INVALID_REQUEST" });
      expect(body?.["message"]).toContain(named);
    }
  });

  test("a guard takes the term from the mandate if mandates are required", async () => {
    const gate = gateOver();
    const { url } = await open({ gate, groupId: "billing", mandates });
    const admitted = await post(url, { "Tenure-Mandate": await mandate() });
    expect(admitted).toMatchObject({ status: 200, body: { groupId: "billing", term: 7, nodeId: "n1" } });
    const named = { "Tenure-Mandate": await mandate(), "Tenure-Term": "7", "Tenure-Group": "billing" };
    expect((await post(url, named)).status).toBe(200);
    expect((await post(url, { "Tenure-Mandate": await mandate({ term: 9 }) })).status).toBe(200);
    const stale = await post(url, { "Tenure-Mandate": await mandate() });
    expect(stale).toMatchObject({ status: 409, body: { error: "STALE_TERM", highest_term: 9 } });
    expect(await gate.highestTerm("billing")).toBe(9);
  });

  test("a guard answers 401 without a valid mandate, whose term does not count", async () => {
    const gate = gateOver();
    const { url } = await open({ gate, groupId: "billing", mandates });
    const refused: [Record<string, string>, string][] = [
      [{ "Tenure-Term": "99" }, "UNAUTHENTICATED"],
      [{ "Tenure-Mandate": "x" }, "INVALID_MANDATE"],
      [{ "Tenure-Mandate": `${await mandate({ term: 99 })}x` }, "INVALID_MANDATE"],
      [{ "Tenure-Mandate": await mandate({ group: "reports", term: 99 }) }, "INVALID_MANDATE"],
      [{ "Tenure-Mandate": await mandate(), "Tenure-Term": "99" }, "INVALID_MANDATE"],
      [{ "Tenure-Mandate": await mandate({ term: 99, exp: 1000 }) }, "MANDATE_EXPIRED"],
    ];
    for (const [headers, error] of refused) {
      const answer = await post(url, headers);
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Tenure-Mandate");
      expect(answer.body).toMatchObject({ ok: false, error });
      expect(answer.body?.["message"]).toContain("the header Tenure-Mandate");
    }
    expect(await gate.highestTerm("billing")).toBe(0);
    expect((await post(url, { "Tenure-Mandate": "" })).status).toBe(400);
  });

  test("a guard answers 503 when the highest term cannot be read, and does not reveal where it is stored", async () => {
    const failing = () => Promise.reject(new Error("the disk of the-secret-host is full"));
    const gate = gateOver({ read: failing, raise: failing });
    const { url } = await open({ gate, groupId: "billing" });
    const { status, headers, body } = await post(url, { "Tenure-Term": "7" });
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(body).toMatchObject({ ok: false, error: "FENCE_UNAVAILABLE" });
    expect(JSON.stringify(body)).not.toContain("secret");
  });

  test("a guard calls groupId for the group of each request, and an error there admits no request", async () => {
    const groupId = ({ headers }: { headers: IncomingMessage["headers"] }): string =>
      String(headers["x-shard"]);
    const { url, faults } = await open({ gate: gateOver(), groupId });
    expect((await post(url, { "X-Shard": "a", "Tenure-Term": "2" })).body).toMatchObject({ groupId: "a" });
    expect((await post(url, { "X-Shard": "b", "Tenure-Term": "1" })).body).toMatchObject({ groupId: "b" });
    expect((await post(url, { "X-Shard": "a", "Tenure-Term": "1" })).status).toBe(409);
    expect((await post(url, { "X-Shard": "no group", "Tenure-Term": "9" })).status).toBe(500);
    expect(faults).toMatchObject([{ code: "INVALID_REQUEST", field: "groupId" }]);
  });

  test("a guard refuses options that would leave it open", async () => {
    const gate = gateOver();
    await expect(open({ gate, groupId: "" })).rejects.toThrow("groupId must be");
    await expect(open({ gate: {} as TermGate, groupId: "g" })).rejects.toThrow("gate must be a TermGate");
    const none = { gate, groupId: "g", mandates: null } as unknown as Options;
    await expect(open(none)).rejects.toThrow("mandates must be a MandateVerifier");
    const misspelt = { gate, groupId: "g", mandate: mandates } as Options;
    await expect(open(misspelt)).rejects.toThrow("mandate is not known here");
  });
});

test("the hook guards every route of a Fastify plugin, and the middleware may be typed by its framework", async () => {
  const app = fastify();
  undo.push(() => app.close());
  app.get("/open", async () => "open");
  await app.register(async (guarded) => {
    guarded.addHook("onRequest", fastifyFence({ gate: gateOver(), groupId: "billing" }));
    guarded.post("/jobs", async () => "done");
  });
  expect((await app.inject({ url: "/open" })).statusCode).toBe(200);
  expect((await app.inject({ method: "POST", url: "/jobs" })).statusCode).toBe(400);
  const led = { method: "POST", url: "/jobs", headers: { "tenure-term": "1" } } as const;
  expect((await app.inject(led)).body).toBe("done");

  interface ShardRequest extends IncomingMessage {
    readonly params: { readonly shard: string };
  }
  expressFence<ShardRequest>({ gate: gateOver(), groupId: ({ params }) => `shards/${params.shard}` });
});
