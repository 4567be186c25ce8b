/** Routes that a program adds: they identify callers as the service does, or on their own. */
import type { FastifyInstance } from "fastify";
import { afterEach, expect, it } from "vitest";
import { temporaryFile } from "./auth/auth.test-kit.js";
import { cleanUp, later } from "./http/service.test-kit.js";
import { TenureServer } from "./tenure-server.js";

afterEach(cleanUp);

it("routes of an extension are served beside the service's own, with its authentication unless they opt out", async () => {
  const adminTokenFile = temporaryFile("token", `${"t".repeat(40)}\n`);
  const options = { listen: "127.0.0.1:0", store: "memory:", adminTokenFile, logLevel: "silent" } as const;
  const server = await TenureServer.open(options, {
    extension: {
      mount(app: FastifyInstance, host): void {
        expect(host.tls).toBeNull();
        app.get("/x/known", ({ caller }) => ({ caller: caller.name }));
        app.get("/x/own", { config: { ownIdentity: true } }, ({ raw }) => host.identify(raw.socket));
      },
    },
  });
  later(() => server.close());
  const ask = async (path: string, token?: string): Promise<readonly [number, unknown]> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(server.url + path, { headers });
    return [answer.status, await answer.json()];
  };
  expect((await ask("/x/known"))[0]).toBe(401);
  expect((await ask("/x/known", "t".repeat(40)))[0]).toBe(200);
  expect(await ask("/x/own")).toEqual([200, { kind: "none" }]);
  expect((await ask("/v1/groups/g/leader"))[0]).toBe(401);
  // Added routes are not part of the service's own document.
  const [, document] = await ask("/openapi.json");
  expect(Object.keys((document as { paths: object }).paths)).not.toContain("/x/own");
});

it("a mistake in the schema of an extension's route is reported when the server opens, and a good schema checks requests", async () => {
  const open = (schema: object): Promise<TenureServer> =>
    TenureServer.open(
      { listen: "127.0.0.1:0", store: "memory:", logLevel: "silent" },
      { extension: { mount: (app) => void app.post("/x", { schema: { body: schema } }, () => ({})) } },
    );
  await expect(open({ type: "objekt" })).rejects.toThrow("/x");
  const server = await open({ type: "object", required: ["name"] });
  later(() => server.close());
  const headers = { "content-type": "application/json" };
  const post = (body: object) =>
    fetch(`${server.url}/x`, { method: "POST", headers, body: JSON.stringify(body) });
  expect((await post({ name: "a" })).status).toBe(200);
  const refused = await post({});
  expect([refused.status, await refused.json()]).toMatchObject([400, { field: "name" }]);
});
