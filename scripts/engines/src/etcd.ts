import { join } from "node:path";
import { type Engine, scratchDirectory, startAll } from "./engine.js";
import { EngineProcess } from "./engine-process.js";
import { freePorts } from "./free-ports.js";
import { findCommand } from "./install.js";
import { findNewer } from "./newer-packages.js";

export interface EtcdEngineOptions {
  readonly nodes?: 1 | 3;
  /** The release to run. Default: that of the system. */
  readonly release?: "system" | "newer";
  /** If given, clients must use TLS, and with `clientCa` a client certificate. PEM files. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string };
  /** Additional arguments of every member. */
  readonly args?: readonly string[];
  /** Where each member runs. Default: on this machine. */
  readonly machines?: readonly Machine[];
}

/** A machine of a `TestNetwork`. */
export interface Machine {
  readonly host: string;
  /** The prefix of a command that runs it on this machine. */
  readonly inside: readonly string[];
}

export interface EtcdEngine extends Engine {
  /** `host:port` of each member, for clients. */
  readonly endpoints: readonly string[];
}

const THIS_MACHINE: Machine = { host: "127.0.0.1", inside: [] };

interface Member {
  readonly name: string;
  readonly machine: Machine;
  readonly client: number;
  readonly peer: number;
  /** Port of the health check, which is plain HTTP even if clients must use TLS. */
  readonly health: number;
}

/** Starts a new cluster. A member is ready when it has a leader and a quorum. */
export async function startEtcd(options: EtcdEngineOptions = {}): Promise<EtcdEngine> {
  const { nodes: count = 1, machines = [] } = options;
  const ports = await freePorts(3 * count);
  const members = Array.from({ length: count }, (_, i): Member => {
    const [client = 0, peer = 0, health = 0] = ports.slice(3 * i);
    return { name: `etcd-${i}`, machine: machines[i] ?? THIS_MACHINE, client, peer, health };
  });
  const directory = scratchDirectory("etcd");
  const endpoints = members.map(({ machine, client }) => `${machine.host}:${client}`);
  const nodes = members.map((member) => processOf(member, members, directory, options));
  return startAll({ url: `etcd://${endpoints.join(",")}`, endpoints, nodes }, directory);
}

function processOf(
  member: Member,
  members: readonly Member[],
  directory: string,
  { tls, args = [], release }: EtcdEngineOptions,
): EngineProcess {
  const scheme = tls === undefined ? "http" : "https";
  const { host, inside } = member.machine;
  const client = `${scheme}://${host}:${member.client}`;
  const peerOf = ({ machine, peer }: Member): string => `http://${machine.host}:${peer}`;
  const health = `http://${host}:${member.health}`;
  const cluster = members.map((each) => `${each.name}=${peerOf(each)}`).join(",");
  const settings = [
    ["--name", member.name],
    ["--data-dir", join(directory, member.name)],
    ["--listen-client-urls", client],
    ["--advertise-client-urls", client],
    ["--listen-peer-urls", peerOf(member)],
    ["--initial-advertise-peer-urls", peerOf(member)],
    ["--initial-cluster", cluster],
    ["--listen-metrics-urls", health],
    ["--log-level", "error"],
    ...(tls === undefined
      ? []
      : [
          ["--cert-file", tls.cert],
          ["--key-file", tls.key],
        ]),
    ...(tls?.clientCa === undefined ? [] : [["--client-cert-auth"], ["--trusted-ca-file", tls.clientCa]]),
  ];
  const etcd = (release === "newer" ? findNewer : findCommand)("etcd") ?? "etcd";
  const [file = "", ...command] = [...inside, etcd, ...settings.flat(), ...args];
  return new EngineProcess(member.name, {
    file,
    args: command,
    cwd: directory,
    isReady: async () => (await fetch(`${health}/health`, { signal: AbortSignal.timeout(1000) })).ok,
  });
}
