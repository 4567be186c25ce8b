/** The engines, what is measured on each, and how far ahead of a direct client Tenure is to be. */
import { startEtcd, startNats, startPostgres, startZookeeper } from "@tenure/engines";
import type { DirectWork } from "./direct-client.js";
import { engineThroughput } from "./engine-throughput.js";
import type { Benchmark } from "./report.js";

const TRIED = [1, 2, 4] as const;
/** etcd keeps every revision until it is told not to; a run writes some gigabytes of them at most. */
const ETCD_QUOTA = ["--quota-backend-bytes", String(8 * 2 ** 30)];

const etcdTxn: DirectWork = {
  call: "etcd-txn",
  about: "a compare-and-put Txn for each renewal, by @grpc/grpc-js",
  connections: TRIED,
  inFlight: 64,
};
const etcdRange: DirectWork = {
  call: "etcd-range",
  about: "a linearizable Range for each read, by @grpc/grpc-js",
  connections: TRIED,
  inFlight: 64,
};
const postgresUpdate: DirectWork = {
  call: "postgres-update",
  about: "a compare-and-UPDATE of one row for each renewal, by pg",
  connections: [32],
  inFlight: 32,
};
const natsUpdate: DirectWork = {
  call: "nats-update",
  about: "a kv update (a publish with the expected sequence) for each renewal, by @nats-io/jetstream",
  connections: TRIED,
  inFlight: 64,
};
const zookeeperSetData: DirectWork = {
  call: "zookeeper-set-data",
  about: "a setData with the expected version for each renewal, by the store's own client",
  connections: TRIED,
  inFlight: 64,
};

export const engineBenchmarks: readonly Benchmark[] = [
  engineThroughput({
    engine: "etcd",
    about: "renewals and linearizable reads over a cluster of 3, against direct Txns and Ranges",
    start: () => startEtcd({ nodes: 3, args: ETCD_QUOTA }),
    lines: [
      { load: { verb: "renew", connections: 64 }, against: etcdTxn, target: 3 },
      { load: { verb: "renew-many", connections: 8 }, against: etcdTxn, target: 7 },
      { load: { verb: "leader", connections: 64 }, against: etcdRange, target: 3 },
    ],
  }),
  engineThroughput({
    engine: "postgres",
    about: "renewals over one server, against direct UPDATEs on 32 connections",
    start: () => startPostgres(),
    lines: [
      { load: { verb: "renew", connections: 32 }, against: postgresUpdate, target: 1.5 },
      { load: { verb: "renew", connections: 128 }, against: postgresUpdate, target: 1.5 },
    ],
  }),
  engineThroughput({
    engine: "nats",
    // A bucket with replicas needs 2.9.21 or newer.
    needs: "newer nats",
    about: "renewals over a cluster of 3 with 3 replicas, against direct kv updates",
    start: () => startNats({ nodes: 3, replicas: 3, release: "newer" }),
    lines: [{ load: { verb: "renew", connections: 64 }, against: natsUpdate, target: 0.8 }],
  }),
  engineThroughput({
    engine: "zookeeper",
    about: "renewals over an ensemble of 3, against direct setData",
    start: () => startZookeeper({ nodes: 3 }),
    lines: [{ load: { verb: "renew", connections: 64 }, against: zookeeperSetData, target: null }],
  }),
];
