/** Rate limits: per which caller, and what counts. */
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, test } from "vitest";
import { testKey, token } from "../auth/auth.test-kit.js";
import { LoopbackAuthenticator } from "../auth/authenticator.js";
import { ADMIN_TOKEN, type Answer, cleanUp, type Client, serveKnown } from "../http/service.test-kit.js";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { addressAccount } from "./account.js";
import { Admission, type Admitted, batchCost } from "./admission.js";

afterEach(cleanUp);

function statuses(answers: readonly Answer[]): readonly number[] {
  return answers.map(({ status }) => status);
}

function many(count: number, ask: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
}

async function drain(client: Client): Promise<void> {
  expect(statuses(await many(20, () => client.leader("g")))).toContain(429);
}

function renewals(count: number): object {
  const each = { node_id: "a", term: 1, extend_by_ms: 5000 };
  return { renewals: Array.from({ length: count }, (_, index) => ({ group_id: `g${index}`, ...each })) };
}

describe("the rate limit of a caller", () => {
  test("the rate limit of a caller is separate from callers of the same name with another role or credential", async () => {
    const { service, bearer } = await serveKnown({ rateLimit: 1 });
    const as = async (claims: object) => service.as(await bearer({ groups: ["*"], ...claims }));
    await drain(await as({ sub: "victim", role: "observer" }));
    expect((await (await as({ sub: "victim", role: "node" })).leader("g")).status).toBe(200);
    await drain(await as({ sub: "admin-token", role: "admin" }));
    expect((await service.as(ADMIN_TOKEN).leader("g")).status).toBe(200);
  });

  test("the rate limit is charged for each item of a batch or of a page of groups, over HTTP and gRPC", async () => {
    const { service, bearer } = await serveKnown({ rateLimit: 10, grpc: "127.0.0.1:0" });
    const clientOf = async (sub: string) => {
      const bearerToken = await bearer({ sub, groups: ["*"] });
      const metadata = { authorization: `Bearer ${bearerToken}` };
      return {
        http: service.as(bearerToken),
        grpc: new GrpcClient(service.server.grpcAddress ?? "", undefined, metadata),
      };
    };
    const batches: Readonly<Record<string, (of: Awaited<ReturnType<typeof clientOf>>) => Promise<unknown>>> =
      {
        renew: ({ http }) => http.post("/v1/renew", renewals(1000)),
        campaign: ({ http }) =>
          http.post("/v1/campaign", {
            campaigns: Array.from({ length: 1000 }, (_, index) => ({
              group_id: `g${index}`,
              node_id: "campaign",
              lease_ttl_ms: 5000,
            })),
          }),
        watch: ({ http }) =>
          http.streamMany(Array.from({ length: 1000 }, (_, index) => ({ group_id: `g${index}` }))),
        // Of the groups of these campaigns.
        groups: ({ http }) => http.get("/v1/groups?limit=1000"),
        "groups-grpc": ({ grpc }) => grpc.call("Groups/List", { limit: 1000 }),
        "renew-grpc": ({ grpc }) => grpc.call("Election/RenewMany", renewals(1000)),
      };
    for (const [sub, send] of Object.entries(batches)) {
      const of = await clientOf(sub);
      await send(of);
      const next = await of.http.leader("g");
      expect([sub, next.status, next.body["error"]]).toEqual([sub, 429, "RATE_LIMITED"]);
      expect(Number(next.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
  });

  test("the default rate limit suffices for a process that leads 1,000 groups with a ttl of 5 s, in batches", async () => {
    const clock = new VirtualClock();
    const admission = new Admission(new LoopbackAuthenticator(), 1000, clock.process());
    const send = (items: number) => {
      const { charge } = admission.admit(
        { authorization: undefined, certificate: undefined },
        "::1",
      ) as Admitted;
      charge(batchCost(items));
    };
    // Watches and campaigns at the start, then renewals every third of the ttl, and as many campaigns again.
    send(1000);
    send(1000);
    for (let round = 0; round < 100; round++) {
      send(1000);
      send(1000);
      await clock.advance(5000 / 3);
    }
  });
});

describe("a client that is not authenticated", () => {
  test("an unauthenticated client can cause few signature checks, and known callers are not affected", async () => {
    const { service, bearer } = await serveKnown({ rateLimit: 10 });
    const known = service.as(await bearer({ sub: "a", groups: ["*"] }));
    expect((await known.leader("g")).status).toBe(200);
    const forger = testKey("test");
    const wrong = (index: number) => token(forger, { sub: `x${index}`, groups: ["*"], exp: 2e9 });
    const answers: Answer[] = [];
    for (let round = 0; round < 3; round++) {
      answers.push(...(await many(10, async (index) => service.as(await wrong(index)).leader("g"))));
    }
    const refused = statuses(answers).filter((status) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(statuses(answers))).toEqual(new Set([401, 429]));
    expect((await known.leader("g")).status).toBe(200);
    expect((await service.as(ADMIN_TOKEN).leader("g")).status).toBe(200);
  });

  test("an unauthenticated client is limited by its address, and pages do not use up the limit of probes", async () => {
    const { service } = await serveKnown({ rateLimit: 1 });
    for (const path of ["/openapi.json", "/v1/groups/g/leader", "/readyz"]) {
      const answers = await many(20, () => service.get(path));
      expect([path, statuses(answers)]).toEqual([path, expect.arrayContaining([429])]);
      expect(statuses(answers)).not.toEqual(Array(20).fill(429));
    }
  });

  test("an unauthenticated client is identified by its IPv4 address or its IPv6 network", () => {
    const same = (a: string, b: string) => addressAccount(a) === addressAccount(b);
    expect(same("10.0.0.1", "10.0.0.2")).toBe(false);
    expect(same("::ffff:10.0.0.1", "::ffff:10.0.0.2")).toBe(false);
    expect(same("2001:db8::1", "2001:db8:0:0:ffff:ffff:ffff:1")).toBe(true);
    expect(same("2001:db8::1", "2001:db8:0:1::1")).toBe(false);
    expect(same("fe80::1%eth0", "fe80::2%eth0")).toBe(true);
    expect(same("::1", "::2")).toBe(true);
    expect(same("1::", "::1")).toBe(false);
  });
});
