/** The leader's side of the fence kit, with the terms of real elections and nothing between the two packages. */
import { createServer } from "node:http";
import { isMissing, startPostgres } from "@tenure/engines";
import {
  admissionOf,
  fenced,
  fencedFetch,
  MemoryTermCell,
  nodeFence,
  POSTGRES_FENCE_SQL,
  TermGate,
} from "@tenure/fence";
import { Client } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Mandate } from "./election/state.js";
import { type Participant, World } from "./election/world.test-kit.js";
import { cleanUp, later, listening } from "./observer/to-leader.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(async () => {
  await cleanUp();
  await world.close();
});

/** `a` leads and is held up while `b` takes over; then `a` continues where it was. */
async function replaced(): Promise<{ a: Participant; b: Participant; heldBefore: Mandate }> {
  const [a, b] = [world.participant("a"), world.participant("b")];
  await a.election.start();
  await b.election.start();
  const heldBefore = await a.election.assertLeader();
  a.clock.pause();
  await world.clock.advance(3000);
  return { a, b, heldBefore };
}

test("the HTTP guard refuses late requests of a replaced leader, which sends none once it checks", async () => {
  const terms: (number | undefined)[] = [];
  const fence = nodeFence({ gate: new TermGate({ cell: new MemoryTermCell() }), groupId: "g" });
  const server = createServer((request, response) => {
    void fence(request, response).then((isAdmitted) => {
      if (!isAdmitted) return;
      terms.push(admissionOf(request)?.term);
      response.end("done");
    });
  });
  const url = `http://${await listening(server)}`;
  const { a, b, heldBefore } = await replaced();
  const fetchOf = (participant: Participant) => fencedFetch(fetch, () => participant.election.mandate());
  // Within its own deadline: it believes that it leads, and no later leader has been at the fence.
  expect(await (await fencedFetch(fetch, () => heldBefore)(url)).text()).toBe("done");
  expect(await (await fetchOf(b)(url)).text()).toBe("done");
  await expect(fencedFetch(fetch, () => heldBefore)(url)).rejects.toMatchObject({
    code: "STALE_TERM",
    term: 1,
    highestTerm: 2,
  });
  a.clock.resume();
  await expect(fetchOf(a)(url)).rejects.toMatchObject({ code: "NOT_LEADER" });
  expect(terms).toEqual([1, 2]);
});

test.skipIf(isMissing("postgres"))("the Postgres guard refuses a replaced leader's late write", async () => {
  const engine = await startPostgres();
  later(() => engine.stop());
  const client = new Client(engine.url);
  await client.connect();
  later(() => client.end());
  await client.query(POSTGRES_FENCE_SQL);
  await client.query("CREATE TABLE job (done_by text)");
  const { b, heldBefore } = await replaced();
  const write = ({ groupId, term, nodeId }: Mandate) =>
    fenced(client, { groupId, term }, (transaction) =>
      transaction.query("INSERT INTO job VALUES ($1)", [nodeId]),
    );
  await write(heldBefore);
  await write(await b.election.assertLeader());
  await expect(write(heldBefore)).rejects.toMatchObject({ code: "STALE_TERM", term: 1, highestTerm: 2 });
  await write(await b.election.assertLeader());
  expect((await client.query("SELECT done_by FROM job")).rows).toEqual([
    { done_by: "a" },
    { done_by: "b" },
    { done_by: "b" },
  ]);
});
