import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Engine, scratchDirectory, startAll } from "./engine.js";
import { EngineProcess } from "./engine-process.js";
import { freePorts } from "./free-ports.js";
import { findCommand } from "./install.js";
import { findNewer } from "./newer-packages.js";

export interface NatsOptions {
  readonly nodes?: 1 | 3;
  /** The release to run. Default: that of the system. */
  readonly release?: "system" | "newer";
  /** Replicas of the bucket that `url` names. Default: 1. */
  readonly replicas?: number;
  /** `false`: no JetStream. A string: additional settings of JetStream, except for its directory, which is set here. */
  readonly jetStream?: boolean | string;
  /** Additional lines of the servers' configuration: accounts, TLS, limits. */
  readonly config?: string;
}

export interface NatsEngine extends Engine {
  /** Ports for clients, in the order of `nodes`. */
  readonly ports: readonly number[];
  /** Monitoring URL of each server, in the same order. */
  readonly monitors: readonly string[];
  /** The URL of a bucket, which need not exist. Default: as many replicas as the bucket of `url`. */
  urlOf(bucket: string, replicas?: number): string;
}

interface Ports {
  readonly client: number;
  readonly cluster: number;
  readonly monitor: number;
}

/**
 * Starts one nats-server, or a cluster of three, with JetStream. Writes are not synced one by one, because version 2.9 has
 * no setting for it. The kernel keeps what a killed process has written, so tests that kill servers lose nothing.
 */
export async function startNats(options: NatsOptions = {}): Promise<NatsEngine> {
  const { nodes = 1 } = options;
  const numbers = await freePorts(3 * nodes);
  const ports = Array.from({ length: nodes }, (_, i): Ports => {
    const [client = 0, cluster = 0, monitor = 0] = numbers.slice(3 * i);
    return { client, cluster, monitor };
  });
  const directory = scratchDirectory("nats");
  const servers = ports.map(({ client }) => `127.0.0.1:${client}`).join(",");
  const urlOf = (bucket: string, replicas = options.replicas ?? 1): string =>
    `nats://${servers}/${bucket}${replicas === 1 ? "" : `?replicas=${replicas}`}`;
  const processes = ports.map((_, i) => nodeOf(i, ports, directory, options));
  const clientPorts = ports.map(({ client }) => client);
  const monitors = ports.map(({ monitor }) => `http://127.0.0.1:${monitor}`);
  return startAll({ url: urlOf("tenure"), urlOf, ports: clientPorts, monitors, nodes: processes }, directory);
}

function nodeOf(
  index: number,
  ports: readonly Ports[],
  directory: string,
  { jetStream = true, config = "", release }: NatsOptions,
): EngineProcess {
  const name = `nats-${index + 1}`;
  const cwd = join(directory, name);
  mkdirSync(cwd);
  const { client, cluster, monitor } = ports[index] as Ports;
  const routes = ports.map((each) => `"nats://127.0.0.1:${each.cluster}"`).join(", ");
  const lines = [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${client}"`,
    `http: "127.0.0.1:${monitor}"`,
    ...(jetStream === false
      ? []
      : [`jetstream { store_dir: ${JSON.stringify(cwd)}, ${jetStream === true ? "" : jetStream} }`]),
    ...(ports.length > 1
      ? [`cluster { name: tenure, listen: "127.0.0.1:${cluster}", routes: [${routes}] }`]
      : []),
    config,
  ];
  writeFileSync(join(cwd, "nats.conf"), lines.join("\n"));
  return new EngineProcess(name, {
    file: (release === "newer" ? findNewer : findCommand)("nats-server") ?? "nats-server",
    args: ["--config", "nats.conf"],
    cwd,
    // In a cluster a server is healthy once it has heard from the leader of JetStream.
    isReady: async () => (await fetch(`http://127.0.0.1:${monitor}/healthz`)).ok,
  });
}
