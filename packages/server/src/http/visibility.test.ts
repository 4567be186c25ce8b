/** What a caller limited to some groups learns of the others: nothing, not even that they exist. */
import { afterEach, expect, it } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { ADMIN_TOKEN, type Answer, type Client, cleanUp, serveKnown } from "./service.test-kit.js";

afterEach(cleanUp);

const SECRETS = ["secret-merger-acme", "secret-project-x", "team-a", "team-b/x", "zz-secret"];

async function open(visible: number) {
  const { service, bearer } = await serveKnown({ grpc: "127.0.0.1:0" });
  const admin = service.as(ADMIN_TOKEN);
  const own = Array.from({ length: visible }, (_, i) => `team-a/${String(i).padStart(3, "0")}`);
  for (const group of [...SECRETS, ...own]) await admin.campaign(group, "somebody", { lease_ttl_ms: 60_000 });
  const tokens = {
    node: await bearer({ sub: "n1", role: "node", groups: ["team-a/*"] }),
    observer: await bearer({ sub: "olivia", role: "observer", groups: ["team-a/*"] }),
  };
  return { service, admin, own, tokens };
}

/** Every page from the first to the last. */
async function pages(
  client: Client,
  limit: number,
  more = "",
): Promise<{ ids: string[]; cursor: string | null }[]> {
  const all: { ids: string[]; cursor: string | null }[] = [];
  for (let cursor: string | null = ""; cursor !== null; cursor = all.at(-1)?.cursor ?? null) {
    const after = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await client.get(`/v1/groups?limit=${limit}${after}${more}`);
    const groups = body["groups"] as { group_id: string }[];
    all.push({ ids: groups.map(({ group_id }) => group_id), cursor: body["cursor"] as string | null });
  }
  return all;
}

it("a caller limited to some groups gets full pages of them, with cursors that name no other group", async () => {
  const { service, own, tokens } = await open(10);
  for (const bearer of Object.values(tokens)) {
    for (const limit of [1, 3, 10]) {
      const got = await pages(service.as(bearer), limit);
      expect(got.flatMap(({ ids }) => ids)).toEqual(own);
      for (const { ids, cursor } of got.slice(0, -1)) {
        expect(ids).toHaveLength(limit);
        expect(own).toContain(cursor);
      }
      expect(JSON.stringify(got)).not.toMatch(/secret|team-b|"team-a"/);
    }
    expect(await pages(service.as(bearer), 1, "&prefix=secret")).toEqual([{ ids: [], cursor: null }]);
  }
});

it("a caller limited to some groups gets the same pages over gRPC", async () => {
  const { service, own, tokens } = await open(5);
  const grpc = new GrpcClient(service.server.grpcAddress ?? "", undefined, {
    authorization: `Bearer ${tokens.observer}`,
  });
  const ids: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page: { groups: { group_id: string }[]; cursor?: string } = await grpc.call("Groups/List", {
      limit: 2,
      ...(cursor === "" ? {} : { cursor }),
    });
    ids.push(...page.groups.map(({ group_id }) => group_id));
    cursor = page.cursor === "" ? undefined : page.cursor;
    if (cursor !== undefined) expect(own).toContain(cursor);
  }
  expect(ids).toEqual(own);
});

it("a caller cannot distinguish a group that it may not see from one that does not exist, on any route", async () => {
  const { service, tokens } = await open(1);
  const asks: readonly ((client: Client, group: string) => Promise<Answer>)[] = [
    (client, group) => client.campaign(group, "n1"),
    (client, group) => client.renew(group, "n1", 1),
    (client, group) => client.resign(group, "n1", 1),
    (client, group) => client.leader(group),
    (client, group) => client.post(`/v1/groups/${group}/heartbeat`, { node_id: "n1" }),
    ...["", "/members", "/health", "/history", "/watch?timeout_ms=1", "/leader?consistency=local"].map(
      (rest) => (client: Client, group: string) => client.get(`/v1/groups/${group}${rest}`),
    ),
    ...["/pause", "/resume"].map(
      (rest) => (client: Client, group: string) => client.post(`/v1/groups/${group}${rest}`),
    ),
    (client, group) => client.post(`/v1/groups/${group}/step-down`, { reason: "x" }),
    (client, group) => client.post(`/v1/groups/${group}/transfer`, { to_node_id: "n1" }),
    (client, group) => client.post("/v1/groups", { group_id: group }),
    (client, group) => client.ask("PATCH", `/v1/groups/${group}`, {}),
    (client, group) => client.ask("DELETE", `/v1/groups/${group}`),
    (client, group) =>
      client.post("/v1/renew", {
        renewals: [{ group_id: group, node_id: "n1", term: 1, extend_by_ms: 5000 }],
      }),
    (client, group) =>
      client.post("/v1/campaign", { campaigns: [{ group_id: group, node_id: "n1", lease_ttl_ms: 5000 }] }),
  ];
  for (const bearer of Object.values(tokens)) {
    const client = service.as(bearer);
    for (const ask of asks) {
      const [there, nowhere] = [await ask(client, "zz-secret"), await ask(client, "zz-nobody")];
      const told = ({ status, body }: Answer, group: string) => [
        status,
        JSON.stringify(body).replaceAll(group, "GROUP"),
      ];
      expect(told(there, "zz-secret")).toEqual(told(nowhere, "zz-nobody"));
      expect(JSON.stringify(there.body)).not.toContain("somebody");
    }
    expect((await client.get("/metrics")).status).toBe(403);
  }
});

it("a caller limited to some groups gets no events of others from a watch of all or of several groups", async () => {
  const { service, admin, tokens } = await open(1);
  const client = service.as(tokens.observer);
  const all = await client.stream("/v1/watch");
  const several = await client.streamMany([{ group_id: "zz-secret" }, { group_id: "team-a/000" }]);
  expect((await all.event()).data).toMatchObject({ group_id: "team-a/000" });
  const first = [(await several.event()).data, (await several.event()).data];
  expect(first).toContainEqual(expect.objectContaining({ group_id: "zz-secret", error: "UNAUTHORIZED" }));
  expect(JSON.stringify(first)).not.toContain('"leader_node_id":"somebody","group_id":"zz-secret"');
  await admin.resign("zz-secret", "somebody", 1);
  await admin.resign("team-a/000", "somebody", 1);
  expect((await all.event()).data).toMatchObject({ group_id: "team-a/000", type: "LEADER_LOST" });
  expect((await several.event()).data).toMatchObject({ group_id: "team-a/000", type: "LEADER_LOST" });
});
