/** A client that talks to an engine directly, as a process of its own. Connections stay open from turn to turn. */
import { answerOwner } from "./child.js";
import { measuredOf, type Turn } from "./contest.js";
import type { DirectCall, DirectLoad, OpenWorkers, Worker } from "./direct/direct-load.js";
import { openEtcdRanges, openEtcdTxns } from "./direct/etcd.js";
import { openNatsUpdates } from "./direct/nats.js";
import { openPostgresUpdates } from "./direct/postgres.js";
import { openZookeeperSetDatas } from "./direct/zookeeper.js";

export interface DirectQuestion extends DirectLoad {
  readonly turnMs: number;
}

const CALLS: Readonly<Record<DirectCall, OpenWorkers>> = {
  "etcd-txn": openEtcdTxns,
  "etcd-range": openEtcdRanges,
  "postgres-update": openPostgresUpdates,
  "nats-update": openNatsUpdates,
  "zookeeper-set-data": openZookeeperSetDatas,
};

const [url = "", value = ""] = process.argv.slice(2);
const opened = new Map<string, Worker[]>();

answerOwner<DirectQuestion, Turn>(async ({ call, connections, inFlight, turnMs }) => {
  const name = `${call} ${connections} ${inFlight}`;
  const workers = opened.get(name) ?? (await CALLS[call]({ url, value, connections, inFlight }));
  opened.set(name, workers);
  const cpuBefore = process.cpuUsage();
  const startMs = performance.now();
  const latenciesMs: number[] = [];
  await Promise.all(workers.map((worker) => repeat(worker, startMs + turnMs, latenciesMs)));
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const measured = measuredOf(latenciesMs, tookMs, 1);
  return { ...measured, cpuUs: (user + system) / measured.count };
});

async function repeat(worker: Worker, endMs: number, latenciesMs: number[]): Promise<void> {
  for (let sentMs = performance.now(); sentMs < endMs;) {
    await worker();
    const nowMs = performance.now();
    latenciesMs.push(nowMs - sentMs);
    sentMs = nowMs;
  }
}
