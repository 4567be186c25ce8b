/** `kill -9` and SIGTERM under load: acknowledged terms stay, accepted requests are answered. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { Api, mustSucceed, termWon } from "./api.test-kit.js";
import { RestartedServer } from "./restarted-server.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const TTL_MS = 30_000;

let scratch: Scratch;
let server: RestartedServer;
let api: Api;
beforeEach(async () => {
  scratch = new Scratch();
  server = await RestartedServer.start(scratch, scratch.directory());
  api = new Api(server.port);
});
afterEach(async () => {
  api.close();
  await scratch.close();
});

it("a leader that renews in time keeps its term across kill -9 of the server, and no other node wins", async () => {
  expect(termWon(await api.campaign("g", "leader", TTL_MS))).toBe(1);
  for (let restart = 0; restart < 2; restart++) {
    await server.killAndRestart();
    expect((await api.campaign("g", "other", TTL_MS)).body).toMatchObject({
      is_leader: false,
      leader: { node_id: "leader", term: 1 },
    });
    expect((await api.renew("g", "leader", 1, TTL_MS)).body).toMatchObject({ ok: true, leader: { term: 1 } });
  }
  mustSucceed(await api.resign("g", "leader", 1));
  expect(termWon(await api.campaign("g", "other", TTL_MS))).toBe(2);
});

it("terms continue after kill -9 during elections: no acknowledged term is lost or used twice", async () => {
  const groups = Array.from({ length: 16 }, (_, index) => `g-${index}`);
  const terms = new Map(groups.map((group) => [group, 0]));
  let stop = false;
  const electing = groups.map(async (group) => {
    for (let round = 0; !stop; round++) {
      const node = `${group}-node-${round}`;
      const term = termWon(await server.ask(() => api.campaign(group, node, TTL_MS)));
      // The node of an unanswered campaign asks again and is confirmed, so terms have no gaps either.
      expect(term).toBe((terms.get(group) ?? 0) + 1);
      terms.set(group, term);
      mustSucceed(await server.ask(() => api.resign(group, node, term)));
    }
  });
  const warm = async () => {
    const last = [...terms.values()];
    while ([...terms.values()].some((term, index) => term < (last[index] ?? 0) + 5))
      await api.get("/healthz");
  };
  for (let kill = 0; kill < 2; kill++) {
    await warm().catch(() => {});
    await server.killAndRestart();
  }
  await warm();
  stop = true;
  await Promise.all(electing);
  for (const group of groups) expect((await api.leader(group)).body.term).toBe(terms.get(group));
});
