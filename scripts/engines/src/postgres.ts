import { execFileSync } from "node:child_process";
import { appendFileSync, chownSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type Engine, scratchDirectory, startAll } from "./engine.js";
import { EngineProcess, standsStill } from "./engine-process.js";
import { freePorts } from "./free-ports.js";
import { findCommand, postgresBinary } from "./install.js";

export interface PostgresOptions {
  /** Number of streaming standbys of the first server, named standby1 and so on. Each follows it until it is promoted. */
  readonly standbys?: number;
  /** Settings for postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines for pg_hba.conf, before the line that trusts every user of this machine. */
  readonly access?: readonly string[];
}

export interface PostgresEngine extends Engine {
  /** The primary, then its standbys. */
  readonly nodes: readonly PostgresProcess[];
  readonly ports: readonly number[];
  /** Makes a standby the primary. The old one must be dead. */
  promote(node: number): void;
}

export interface PgBouncerOptions {
  readonly postgres: PostgresEngine;
  /** Number of connections to the server that all clients share. */
  readonly poolSize?: number;
}

const SUPERUSER = "postgres";
/** PostgreSQL refuses to run as root; Debian's package creates a user for it. */
const SERVER_USER = process.getuid?.() === 0 ? "postgres" : undefined;
const AS_SERVER_USER =
  SERVER_USER === undefined ? [] : [`--reuid=${SERVER_USER}`, `--regid=${SERVER_USER}`, "--init-groups"];
const GONE_POLL_MS = 5;
const HANDSHAKE_LIMIT_MS = 1000;

/** A server of many processes. Pausing, resuming and killing affect all of them. */
export class PostgresProcess extends EngineProcess {
  override async pause(): Promise<void> {
    await super.pause();
    const children = this.#children();
    for (const pid of children) send(pid, "SIGSTOP");
    await Promise.all(children.filter(isAlive).map(standsStill));
  }

  override resume(): void {
    for (const pid of this.#children()) send(pid, "SIGCONT");
    super.resume();
  }

  /** Like a loss of power: all processes end at once, so none still has the data directory open. */
  override async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (!this.isRunning) return;
    // Paused first, so that the server starts no other process and does not recover from the death of a child.
    if (signal === "SIGKILL") await super.pause();
    const children = this.#children();
    if (signal === "SIGKILL") for (const pid of children) send(pid, signal);
    await super.kill(signal);
    while (children.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, GONE_POLL_MS));
  }

  #children(): number[] {
    const listed = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, "utf8");
    return listed
      .split(" ")
      .filter((pid) => pid.trim() !== "")
      .map(Number);
  }
}

/** Trusts every user of this machine. Tests separate their data by schemas: `?schema=…`. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresEngine> {
  const directory = serverDirectory();
  const ports = await freePorts(1 + (options.standbys ?? 0));
  const [primary, ...standbys] = ports.map((port, i) => {
    return new PostgresProcess(`postgres ${i}`, {
      file: postgresBinary("postgres") ?? "postgres",
      args: ["-D", dataOf(directory, i), "-p", String(port)],
      cwd: directory,
      ...(SERVER_USER === undefined ? {} : { user: SERVER_USER }),
      isReady: () => serves(port),
    });
  }) as [PostgresProcess, ...PostgresProcess[]];
  initialize(directory, options);
  const engine = await startAll({ url: urlOf(ports), nodes: [primary] }, directory);
  const stop = async (): Promise<void> => {
    await Promise.all(standbys.map((standby) => standby.kill()));
    await engine.stop();
  };
  try {
    for (const [i, standby] of standbys.entries()) {
      copyPrimary(directory, i + 1, ports);
      await standby.start();
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const promote = (node: number): void =>
    runAsServer("pg_ctl", ["promote", "--wait", "--silent", "--pgdata", dataOf(directory, node)]);
  const nodes = [primary, ...standbys];
  return { url: urlOf(ports), nodes, ports, promote, stop, [Symbol.asyncDispose]: stop };
}

/** PgBouncer in transaction mode, in front of the first server. */
export async function startPgBouncer({ postgres, poolSize = 4 }: PgBouncerOptions): Promise<Engine> {
  const directory = serverDirectory();
  const [port] = (await freePorts(1)) as [number];
  const file = join(directory, "pgbouncer.ini");
  const settings = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    default_pool_size: poolSize,
    max_client_conn: 1000,
  };
  const database = `* = host=127.0.0.1 port=${postgres.ports[0]} user=${SUPERUSER}`;
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(file, ["[databases]", database, "[pgbouncer]", ...lines, ""].join("\n"));
  const node = new EngineProcess("pgbouncer", {
    file: findCommand("pgbouncer") ?? "pgbouncer",
    args: ["--quiet", file],
    cwd: directory,
    ...(SERVER_USER === undefined ? {} : { user: SERVER_USER }),
    isReady: () => serves(port),
  });
  return startAll({ url: urlOf([port]), nodes: [node] }, directory);
}

/** Makes the user that the servers run as the owner of a file. PostgreSQL refuses a key file that others may read. */
export function giveToPostgres(path: string): void {
  if (SERVER_USER === undefined) return;
  const id = (flag: string) => Number(execFileSync("id", [flag, SERVER_USER], { encoding: "utf8" }));
  chownSync(path, id("-u"), id("-g"));
}

function serverDirectory(): string {
  const directory = scratchDirectory("postgres");
  giveToPostgres(directory);
  return directory;
}

function urlOf(ports: readonly number[]): string {
  return `postgres://${SUPERUSER}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/postgres`;
}

function dataOf(directory: string, node: number): string {
  return join(directory, `data-${node}`);
}

function initialize(directory: string, options: PostgresOptions): void {
  const data = dataOf(directory, 0);
  // The new database may be lost in a power failure, so initdb need not sync it. Later writes are synced.
  const how = ["--auth=trust", `--username=${SUPERUSER}`, "--encoding=UTF8", "--locale=C", "--no-sync"];
  runAsServer("initdb", [...how, "--pgdata", data]);
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: directory,
    wal_keep_size: "256MB",
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'`);
  appendFileSync(join(data, "postgresql.conf"), `${lines.join("\n")}\n`);
  const trusted = ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"];
  writeFileSync(join(data, "pg_hba.conf"), [...(options.access ?? []), ...trusted, ""].join("\n"));
}

function copyPrimary(directory: string, node: number, ports: readonly number[]): void {
  const source = `host=127.0.0.1 port=${ports[0]} user=${SUPERUSER} application_name=standby${node}`;
  const how = ["--checkpoint=fast", "--write-recovery-conf", "--no-sync", "--wal-method=stream"];
  runAsServer("pg_basebackup", [...how, "--dbname", source, "--pgdata", dataOf(directory, node)]);
}

function runAsServer(command: string, args: readonly string[]): void {
  const file = postgresBinary(command) ?? command;
  const [program, rest] =
    SERVER_USER === undefined ? [file, args] : ["setpriv", [...AS_SERVER_USER, "--", file, ...args]];
  execFileSync(program, rest, { cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
}

/** Whether a session can be opened: a server that starts or recovers answers with an error. */
function serves(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, timeout: HANDSHAKE_LIMIT_MS });
    socket.once("connect", () => socket.write(startupMessage()));
    socket.once("data", (answer) => {
      resolve(answer.toString("latin1", 0, 1) === "R");
      socket.destroy();
    });
    socket.once("timeout", () => socket.destroy());
    socket.on("error", () => socket.destroy());
    socket.once("close", () => resolve(false));
  });
}

/** The startup message of protocol 3.0: its length, the version, and the user and database, each followed by a zero byte. */
function startupMessage(): Buffer {
  const parameters = `user\0${SUPERUSER}\0database\0postgres\0\0`;
  const message = Buffer.alloc(8 + parameters.length);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(3 << 16, 4);
  message.write(parameters, 8, "latin1");
  return message;
}

function send(pid: number, signal: NodeJS.Signals): void {
  // The process may have ended in the meantime.
  if (isAlive(pid)) process.kill(pid, signal);
}

/** A zombie process (state Z) counts as ended: it holds no files. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
