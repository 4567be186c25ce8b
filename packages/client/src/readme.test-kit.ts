/** The examples of the README, word for word; its first one is a program of its own and is run as such. */
import { createServer, type Server } from "node:http";
import type { Elector } from "@tenure/core";
import { fenced, fencedFetch, type SqlClient } from "@tenure/fence";
import client from "prom-client";
import {
  Election,
  type ElectionOptions,
  type Logger,
  nodeToLeader,
  Observer,
  prometheusMetrics,
  type Tracer,
} from "./index.js";

export function standForElection(elector: Elector, nodeId: string, log: (line: string) => void): Election {
  const election = new Election(elector, { groupId: "billing", nodeId, ttlMs: 5_000 });
  return election
    .onPromote(async ({ term }, signal) => {
      log(`begins its work in term ${term}`);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      log("has ended its work");
    })
    .onDemote((reason) => log(`leads no more: ${reason}`))
    .onLeaderChange(({ nodeId }) => log(`the leader is ${nodeId ?? "nobody"}`));
}

export async function closeTheMonth(election: Election, connection: SqlClient): Promise<void> {
  const { groupId, term } = await election.assertLeader();
  await fenced(connection, { groupId, term }, async (transaction) => {
    await transaction.query("UPDATE month SET is_closed = true");
  });
}

export function leaderFetch(election: Election): typeof fetch {
  return fencedFetch(fetch, () => election.mandate());
}

export async function shutDown(election: Election, elector: Elector): Promise<void> {
  try {
    await election.stop({ timeoutMs: 10_000 });
  } finally {
    await elector.close();
  }
}

export function whileHealthy(database: {
  ping(signal: AbortSignal): Promise<boolean>;
}): Partial<ElectionOptions> {
  return { healthChecker: (signal) => database.ping(signal), healthTimeoutMs: 500, maxHealthFailures: 3 };
}

export function serveAtAnyNode(observer: Observer, election: Election, nodeId: string): Server {
  const toLeader = nodeToLeader({ observer, nodeId, isLeader: () => election.isLeader() });
  return createServer((request, response) => {
    void toLeader(request, response).then((isLocal) => {
      if (isLocal) response.end(`served by ${nodeId}`);
    });
  });
}

export async function printLeaders(elector: Elector, print: (line: string) => void): Promise<void> {
  const observer = new Observer(elector, { groupId: "billing" });
  const changes = observer.changes();
  await observer.start();
  for await (const change of changes) {
    if (change.kind === "details") print(`${change.leader.nodeId} leads at ${change.leader.address}`);
    if (change.kind === "leader-changed" && change.leader.reason === "resigned") break;
  }
  await observer.stop();
}

export function observed(logger: Logger, tracer: Tracer): Partial<ElectionOptions> {
  return { logger, tracer, metrics: prometheusMetrics({ client }) };
}
