/**
 * A leader that is held up for longer than its lease: it knows on the first question, and what it writes late is refused,
 * by real guards of real resources.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { sleep, systemClock } from "@tenure/core";
import { isMissing, type PostgresEngine, startPostgres } from "@tenure/engines";
import { MemoryTermCell, nodeFence, POSTGRES_FENCE_SQL, TermGate } from "@tenure/fence";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerProcess } from "../server-process.test-kit.js";
import { Participants } from "./participants.test-kit.js";

const TTL_MS = 1000;

interface Case {
  readonly title: string;
  readonly heart: { readonly stallLimitMs?: number };
  readonly hold: "until-paused" | number;
}

const CASES: readonly Case[] = [
  { title: "paused for 3 × ttl", heart: {}, hold: "until-paused" },
  {
    title: "paused for 3 × ttl with a worker renewer",
    heart: { stallLimitMs: 60_000 },
    hold: "until-paused",
  },
  { title: "whose event loop is held up for 2 × ttl", heart: {}, hold: 2 * TTL_MS },
];

describe.skipIf(isMissing("postgres"))("a leader that is held up", () => {
  const participants = new Participants();
  let server: ServerProcess;
  let engine: PostgresEngine;
  let guarded: Server;
  let http: string;
  /** The admitted terms by group. */
  const admitted = new Map<string, number[]>();
  beforeAll(async () => {
    [server, engine] = await Promise.all([participants.serve(), startPostgres()]);
    const client = new Client(engine.url);
    await client.connect();
    await client.query(POSTGRES_FENCE_SQL);
    await client.query("CREATE TABLE written (node_id text)");
    await client.end();
    const gate = new TermGate({ cell: new MemoryTermCell() });
    const groupOf = (url = ""): string => url.slice(1);
    const fence = nodeFence({ gate, groupId: ({ url }) => groupOf(url) });
    guarded = createServer((request, response) => {
      void fence(request, response).then((isAdmitted) => {
        if (!isAdmitted) return;
        const group = groupOf(request.url);
        admitted.set(group, [...(admitted.get(group) ?? []), Number(request.headers["tenure-term"])]);
        response.end("done");
      });
    }).listen(0, "127.0.0.1");
    await once(guarded, "listening");
    http = `http://127.0.0.1:${(guarded.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await participants.close();
    guarded.closeAllConnections();
    guarded.close();
    await engine.stop();
  });

  async function written(): Promise<readonly string[]> {
    const client = new Client(engine.url);
    await client.connect();
    const { rows } = await client.query<{ node_id: string }>("SELECT node_id FROM written");
    await client.end();
    return rows.map(({ node_id: nodeId }) => nodeId);
  }

  it.each(CASES)(
    "a leader $title knows at once that it no longer leads, and its late writes are refused",
    async (given) => {
      const group = `held-${CASES.indexOf(given)}`;
      const shared = {
        endpoints: [server.url],
        ttlMs: TTL_MS,
        postgres: engine.url,
        http: `${http}/${group}`,
      };
      const first = `first-${CASES.indexOf(given)}`;
      const second = `second-${CASES.indexOf(given)}`;
      const leader = await participants.launch({ nodeId: first, ...shared, ...given.heart });
      const follower = await participants.launch({ nodeId: second, ...shared });
      await leader.start(group);
      const led = await leader.promoted(group);
      expect(await leader.write(group)).toMatchObject({ postgres: "ok", http: "ok" });
      await follower.start(group);

      await leader.hold(group, given.hold);
      if (given.hold === "until-paused") leader.pause();
      const pause = sleep(systemClock, 3 * TTL_MS);
      const taken = await follower.promoted(group);
      expect(taken.term).toBeGreaterThan(led.term);
      expect(await follower.write(group)).toMatchObject({ postgres: "ok", http: "ok" });
      if (given.hold === "until-paused") {
        await pause;
        leader.resume();
      } else {
        // Otherwise it was not held up until the other had written.
        expect(leader.untaken("held")).toEqual([]);
      }

      expect(await leader.next("held")).toMatchObject({ isLeader: false, isAborted: true });
      expect(await leader.next("demoted")).toMatchObject({ reason: "lapsed" });
      expect(await leader.write(group)).toMatchObject({ postgres: "STALE_TERM", http: "STALE_TERM" });
      expect(await written()).toEqual(expect.arrayContaining([first, second]));
      expect((await written()).filter((nodeId) => nodeId === first)).toHaveLength(1);
      expect(admitted.get(group)).toEqual([led.term, taken.term]);
      // It continues as a follower.
      expect(await follower.close()).toBe(0);
      // On a busy machine it may have been promoted more than once before.
      let again = await leader.promoted(group);
      while (again.term <= taken.term) again = await leader.promoted(group);
      expect(await leader.write(group)).toMatchObject({ postgres: "ok", http: "ok" });
      expect(await leader.close()).toBe(0);
    },
  );
});
