/** `tenure run` as a process, with a command that ignores signals. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { standsStill } from "@tenure/engines";

const COMMAND = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));
const STUBBORN = fileURLToPath(new URL("../../src/run/stubborn.test-kit.sh", import.meta.url));

export interface RunOptions {
  readonly server: string;
  readonly nodeId: string;
  readonly directory: string;
  readonly ttl: string;
  /** A prefix of the command. */
  readonly inside?: readonly string[];
}

export class RunProcess {
  readonly nodeId: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #terms: number[] = [];
  #stderr = "";
  #pausedGuardian: number | null = null;
  #waiting: (() => void)[] = [];

  constructor({ server, nodeId, directory, ttl, inside = [] }: RunOptions) {
    this.nodeId = nodeId;
    const run = ["run", "g", "--server", server, "--node-id", nodeId, "--ttl", ttl];
    const [file, ...args] = [...inside, process.execPath, COMMAND, ...run, "--", STUBBORN, directory];
    this.#child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = once(this.#child, "exit");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const [, term] = /^running (\d+)$/.exec(line) ?? [];
      if (term !== undefined) this.#terms.push(Number(term));
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when its command runs in a later term than this. */
  async runsAfter(term: number): Promise<number> {
    for (;;) {
      const last = this.#terms.at(-1) ?? 0;
      if (last > term) return last;
      if (!this.isRunning) throw new Error(`${this.nodeId} has ended: ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        void this.#exited.then(() => resolve());
      });
    }
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#child.kill("SIGKILL");
    await this.#exited;
    this.#resumeGuardian();
  }

  /** A stopped guardian does not notice that its owner is gone. */
  #resumeGuardian(): void {
    try {
      if (this.#pausedGuardian !== null) process.kill(this.#pausedGuardian, "SIGCONT");
    } catch {
      // Its owner has ended it.
    }
  }

  async end(): Promise<number | null> {
    this.#child.kill("SIGTERM");
    await this.#exited;
    return this.#child.exitCode;
  }

  async pause(): Promise<void> {
    this.#child.kill("SIGSTOP");
    await standsStill(this.#child.pid as number);
  }

  /** Freezes the process between `tenure run` and its command, and not `tenure run` itself. */
  async pauseGuardian(): Promise<void> {
    const pid = this.#child.pid as number;
    const [guardian] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .trim()
      .split(" ")
      .map(Number);
    if (guardian === undefined || guardian === 0) throw new Error(`${this.nodeId} has no guardian`);
    process.kill(guardian, "SIGSTOP");
    this.#pausedGuardian = guardian;
    await standsStill(guardian);
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }
}

/** What the commands of a directory reported: others that were alive when they began. */
export function overlapsIn(directory: string): string {
  const file = join(directory, "overlaps");
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Its commands and their children that still run. */
export function survivorsIn(directory: string): readonly number[] {
  return readdirSync(directory)
    .filter((name) => name.startsWith("pids."))
    .flatMap((name) => readFileSync(join(directory, name), "utf8").trim().split("\n").map(Number))
    .filter(isAlive);
}

export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}
