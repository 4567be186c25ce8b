/**
 * Real servers of the engines that Tenure runs on, for tests and benchmarks: private ones, on free ports of the
 * loopback address, with their data in a directory of their own. Not a part of what is shipped.
 */
export { boundMs, isChaos, rounds, waitLimitMs } from "./chaos.js";
export { type Engine, type EngineName } from "./engine.js";
export { EngineProcess, standsStill } from "./engine-process.js";
export { FaultProxy } from "./fault-proxy.js";
export { freePorts } from "./free-ports.js";
export {
  faketimeLibrary,
  findCommand,
  findTool,
  helmBinary,
  type Installed,
  isMissing,
  type Tool,
} from "./install.js";
export { type EtcdEngine, type EtcdEngineOptions, type Machine, startEtcd } from "./etcd.js";
export {
  giveToPostgres,
  type PgBouncerOptions,
  type PostgresEngine,
  type PostgresOptions,
  PostgresProcess,
  startPgBouncer,
  startPostgres,
} from "./postgres.js";
export { type Link, RegionNetwork } from "./region-network.js";
export { TestNetwork } from "./test-network.js";
export { startZookeeper, type ZookeeperEngine } from "./zookeeper.js";
export { type NatsEngine, type NatsOptions, startNats } from "./nats.js";
