/**
 * The honest leader, as a process of its own: one real `Election` for each group, with a connection of its own, so that
 * each renewal is measured by itself. It runs the build: `tsc -b` comes first.
 */
import { Election, type ElectionMetrics, HttpElector } from "@tenure/client";
import type { HonestMessage, HonestOptions, HonestOrder } from "./messages.test-kit.js";

const options = JSON.parse(process.argv[2] ?? "") as HonestOptions;
const { place, cert, key, groups, ttlMs, heartbeatMs } = options;

interface Collection {
  readonly count: number;
  readonly latenciesMs: number[];
  readonly failures: string[];
}
let collection: Collection | null = null;
let ending = false;

function send(message: HonestMessage): void {
  process.send?.(message);
}

const ignore = (): void => {};
const metrics: ElectionMetrics = {
  isLeader: ignore,
  connectionStatus: ignore,
  transition: ignore,
  acquireAttempt: ignore,
  tokenValidationFailure: ignore,
  leaderDuration: ignore,
  workOverdue: ignore,
  failure: (_, code) => void collection?.failures.push(code),
  // A failed renewal counts with the time after which it was abandoned.
  heartbeat: (_, _outcome, seconds) => {
    if (collection === null) return;
    collection.latenciesMs.push(seconds * 1000);
    if (collection.latenciesMs.length === collection.count) send({ kind: "enough" });
  },
};

const terms = new Map<string, number>();
const electors: HttpElector[] = [];
const elections: Election[] = [];

async function start(group: string, index: number): Promise<void> {
  const elector = await HttpElector.open({
    endpoints: [place.url],
    tls: { ca: place.ca, cert, key },
    batch: false,
  });
  // Elections with the same interval share a timer; these do not.
  const heartbeatIntervalMs = heartbeatMs + index;
  const election = new Election(elector, {
    groupId: group,
    nodeId: "honest",
    ttlMs,
    heartbeatIntervalMs,
    metrics,
  });
  election.onPromote(({ term }) => {
    terms.set(group, term);
    if (terms.size === groups.length) send({ kind: "leads", terms: [...terms.values()] });
  });
  election.onDemote((reason) => {
    if (!ending) send({ kind: "lost", group, reason });
  });
  electors.push(elector);
  elections.push(election);
  await election.start();
}

async function end(): Promise<void> {
  ending = true;
  await Promise.all(elections.map((election) => election.stop()));
  await Promise.all(electors.map((elector) => elector.close()));
  process.disconnect();
}

function report(): void {
  const { latenciesMs = [], failures = [] } = collection ?? {};
  collection = null;
  send({ kind: "collected", latenciesMs, failures });
}

process.on("message", (order: HonestOrder) => {
  switch (order.kind) {
    case "collect":
      collection = { count: order.count, latenciesMs: [], failures: [] };
      break;
    case "report":
      report();
      break;
    case "end":
      void end();
      break;
  }
});
process.on("disconnect", () => process.exit());
await Promise.all(groups.map(start));
