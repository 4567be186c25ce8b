import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import type { Elector } from "@tenure/core";
import { isMissing, startPostgres } from "@tenure/engines";
import { POSTGRES_FENCE_SQL } from "@tenure/fence";
import { Client } from "pg";
import client from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { World } from "./election/world.test-kit.js";
import { Election, nodeToLeader, Observer, openElector } from "./index.js";
import { ask, cleanUp, deferred, later } from "./observer/to-leader.test-kit.js";
import {
  closeTheMonth,
  leaderFetch,
  observed,
  printLeaders,
  serveAtAnyNode,
  shutDown,
  standForElection,
  whileHealthy,
} from "./readme.test-kit.js";

afterEach(cleanUp);

const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8");
const options = { groupId: "billing", ttlMs: 5_000 };

describe("the examples in the README", () => {
  test("are the very code that is tested here", () => {
    const examples = [...read("../README.md").matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);
    expect(examples).toHaveLength(7);
    for (const example of examples) expect(read("./readme.test-kit.ts")).toContain(example);
  });

  test("hooks are called in order, and shutting down hands over", async () => {
    const lines: string[] = [];
    const elector = await openElector("memory:");
    const [a, b] = ["a", "b"].map((nodeId) =>
      standForElection(elector, nodeId, (line) => lines.push(`${nodeId} ${line}`)),
    ) as [Election, Election];
    await a.start();
    await b.start();
    const promoted = nextPromotion(b);
    await a.stop();
    await promoted;
    await shutDown(b, elector);
    for (const nodeId of ["a", "b"]) {
      expect(
        lines.filter((line) => line.startsWith(`${nodeId} `) && !line.includes("the leader is")),
      ).toEqual([
        `${nodeId} begins its work in term ${nodeId === "a" ? 1 : 2}`,
        `${nodeId} has ended its work`,
        `${nodeId} leads no more: stopped`,
      ]);
    }
  });

  test("fetch says nothing for one that does not lead", async () => {
    const elector = await openElector("memory:");
    later(() => elector.close());
    const election = new Election(elector, { ...options, nodeId: "a" });
    await expect(leaderFetch(election)("http://127.0.0.1:1")).rejects.toMatchObject({ code: "NOT_LEADER" });
  });

  test.skipIf(isMissing("postgres"))("the leader closes the month, and nobody else does", async () => {
    const engine = await startPostgres();
    later(() => engine.stop());
    const connection = new Client(engine.url);
    await connection.connect();
    later(() => connection.end());
    await connection.query(POSTGRES_FENCE_SQL);
    await connection.query("CREATE TABLE month (is_closed boolean)");
    await connection.query("INSERT INTO month VALUES (false)");
    const elector = await openElector("memory:");
    later(() => elector.close());
    const election = new Election(elector, { ...options, nodeId: "a" });
    later(() => election.stop());
    await expect(closeTheMonth(election, connection)).rejects.toMatchObject({ code: "NOT_LEADING" });
    await election.start();
    await closeTheMonth(election, connection);
    expect((await connection.query("SELECT is_closed FROM month")).rows).toEqual([{ is_closed: true }]);
  });

  test("a sick leader resigns, and comes back when it is healthy", async () => {
    const world = new World();
    let healthy = true;
    const { election, log } = world.participant("a", {
      ttlMs: 5000,
      ...whileHealthy({ ping: () => Promise.resolve(healthy) }),
    });
    await election.start();
    healthy = false;
    await world.clock.advance(5000);
    expect(log).toEqual(["promote 1", "abort", "demote unhealthy"]);
    healthy = true;
    await world.clock.advance(5000);
    expect(election.isLeader()).toBe(true);
    await election.stop();
    await world.close();
  });

  test("any node takes a request, and the leader serves it", async () => {
    const elector = await openElector("memory:");
    later(() => elector.close());
    const nodes = [];
    for (const nodeId of ["a", "b"]) {
      const observer = new Observer(elector, { groupId: "billing" });
      later(() => observer.stop());
      const election = new Election(elector, { ...options, nodeId });
      later(() => election.stop());
      const server = serveAtAnyNode(observer, election, nodeId).listen(0, "127.0.0.1");
      later(() => server.close());
      await once(server, "listening");
      const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      await election.update({ metadata: { address } });
      await election.start();
      await observer.start();
      nodes.push(address);
    }
    expect(await Promise.all(nodes.map(async (address) => (await ask(address)).body))).toEqual([
      "served by a",
      "served by a",
    ]);
  });

  test("an observer prints who leads and where, until it resigns", async () => {
    const elector = await openElector("memory:");
    later(() => elector.close());
    const election = new Election(elector, { ...options, nodeId: "a", metadata: { address: "a:80" } });
    const lines: string[] = [];
    const printed = deferred();
    const ended = printLeaders(elector, (line) => {
      lines.push(line);
      printed.resolve();
    });
    await election.start();
    await printed.promise;
    await election.stop();
    await ended;
    expect(lines).toEqual(["a leads at a:80"]);
  });

  test("logs, traces and metrics are those of the caller", () => {
    const [logger, tracer] = [{}, {}];
    expect(observed(logger as never, tracer as never)).toMatchObject({ logger, tracer });
    expect(client.register.getSingleMetric("election_is_leader")).toBeDefined();
    client.register.clear();
  });
});

test("docs/CLIENT.md names every option", () => {
  const page = read("../../../docs/CLIENT.md");
  const elector = {} as Elector;
  const refusals: [part: string, refused: () => unknown][] = [
    ["", () => new Election(elector, { "?": 1 } as never)],
    ["fencing.", () => new Election(elector, { ...options, nodeId: "a", fencing: { "?": 1 } as never })],
    ["retry.", () => new Election(elector, { ...options, nodeId: "a", retry: { "?": 1 } as never })],
    ["", () => new Observer(elector, { "?": 1 } as never)],
    ["", () => nodeToLeader({ "?": 1 } as never)],
  ];
  for (const [part, refused] of refusals) {
    // Whoever gives an unknown option is told all that are known.
    const known = messageOf(refused)
      .replace(/^.* known are /, "")
      .split(", ");
    expect(known.length).toBeGreaterThan(2);
    const grouped = known.filter((name) => name !== "fencing" && (name !== "retry" || part !== ""));
    expect(grouped.filter((name) => !page.includes(`\`${part}${name}\``))).toEqual([]);
  }
});

function messageOf(refused: () => unknown): string {
  try {
    refused();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("nothing was refused");
}

function nextPromotion(election: Election): Promise<void> {
  const { promise, resolve } = deferred();
  void (async () => {
    for await (const { kind } of election.changes()) if (kind === "promoted") return resolve();
  })();
  return promise;
}
