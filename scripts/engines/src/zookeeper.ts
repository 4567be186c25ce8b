import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { EngineProcess } from "./engine-process.js";
import { type Engine, scratchDirectory, startAll } from "./engine.js";
import { freePorts } from "./free-ports.js";

export interface ZookeeperOptions {
  readonly nodes?: 1 | 3;
  /** Lines to add to every server's configuration. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface ZookeeperEngine extends Engine {
  /** Ports for clients, in the order of `nodes`. */
  readonly ports: readonly number[];
  /** The index in `nodes` of the server that leads the ensemble now. */
  leader(): Promise<number>;
}

const JARS = "/usr/share/java";
/** Optimizes for a fast start and little memory, not for throughput. */
const JVM = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];
const MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
const ANSWER_MS = 1000;

/** Starts one server, or an ensemble of three. */
export async function startZookeeper(options: ZookeeperOptions = {}): Promise<ZookeeperEngine> {
  const count = options.nodes ?? 1;
  const directory = scratchDirectory("zookeeper");
  const ports = await freePorts(3 * count);
  const clients = ports.slice(0, count);
  const members = clients.map((_, i) => {
    return `server.${i + 1}=127.0.0.1:${ports[count + i]}:${ports[2 * count + i]}`;
  });
  const nodes = clients.map((port, i) => {
    const home = join(directory, `${i + 1}`);
    const settings = configuration(home, port, options.settings ?? {});
    mkdirSync(join(home, "data"), { recursive: true });
    writeFileSync(join(home, "data", "myid"), `${i + 1}\n`);
    writeFileSync(join(home, "zoo.cfg"), [...settings, ...(count > 1 ? members : []), ""].join("\n"));
    return new EngineProcess(`zookeeper ${i + 1}`, {
      file: "java",
      args: [...JVM, "-Dzookeeper.preAllocSize=1024", "-cp", classPath(), MAIN, "zoo.cfg"],
      cwd: home,
      isReady: async () => (await modeOf(port)) !== null,
    });
  });
  const url = `zookeeper://${clients.map((port) => `127.0.0.1:${port}`).join(",")}`;
  return startAll({ url, nodes, ports: clients, leader: () => leaderOf(clients) }, directory);
}

/** The tick is short, because elections, sessions and the detection of a lost leader are measured in ticks. */
function configuration(home: string, port: number, more: Readonly<Record<string, string>>): string[] {
  const settings: Record<string, string> = {
    tickTime: "500",
    initLimit: "40",
    syncLimit: "8",
    dataDir: join(home, "data"),
    clientPort: String(port),
    clientPortAddress: "127.0.0.1",
    maxClientCnxns: "0",
    "admin.enableServer": "false",
    "4lw.commands.whitelist": "srvr",
    ...more,
  };
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}

/** The main jar refers to the others, except for a logger and some that only TLS needs. */
function classPath(): string {
  const more = ["slf4j-nop", "netty-codec", "netty-resolver", "netty-transport-native-unix-common"];
  const jars = ["zookeeper", ...more].map((jar) => join(JARS, `${jar}.jar`));
  return jars.filter((jar) => existsSync(jar)).join(":");
}

async function leaderOf(ports: readonly number[]): Promise<number> {
  const modes = await Promise.all(ports.map((port) => modeOf(port).catch(() => null)));
  const leader = modes.indexOf("leader");
  if (leader < 0) throw new Error(`no server leads: ${modes.join(", ")}`);
  return leader;
}

/** A server answers `ruok` before it accepts requests. `srvr` reports its mode only when it accepts them. */
async function modeOf(port: number): Promise<string | null> {
  const socket = connect({ host: "127.0.0.1", port, timeout: ANSWER_MS });
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  socket.on("timeout", () => socket.destroy());
  socket.end("srvr");
  await once(socket, "close");
  return /^Mode: (\w+)/m.exec(answer)?.[1] ?? null;
}
