/** Processes that take part over several servers, and when they reported to lead. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { RunProcess } from "../run/run-process.test-kit.js";
import type { FollowerOptions } from "./follower-main.test-kit.js";

const PROGRAM = fileURLToPath(new URL("../../dist/frozen-server/follower-main.test-kit.js", import.meta.url));

export interface Follower {
  /** Resolves when it knows the leader; `tenure run` does not report that. */
  follows(): Promise<void>;
  /** Resolves when it leads, with the time of this process at which that was reported. */
  leads(): Promise<number>;
  kill(): Promise<void>;
}

export class FollowerProcess implements Follower {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #heard = new Map<string, number>();
  #stderr = "";
  #waiting: (() => void)[] = [];

  constructor(options: FollowerOptions) {
    const args = [PROGRAM, JSON.stringify(options)];
    this.#child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = once(this.#child, "exit");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      this.#heard.set(line.slice(line.indexOf(" ") + 1), performance.now());
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  async follows(): Promise<void> {
    await this.#until("follows");
  }

  leads(): Promise<number> {
    return this.#until("leads");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  async #until(what: string): Promise<number> {
    for (;;) {
      const atMs = this.#heard.get(what);
      if (atMs !== undefined) return atMs;
      if (this.#child.exitCode !== null) throw new Error(`it has ended: ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        void this.#exited.then(() => resolve());
      });
    }
  }
}

/** `tenure run`, which leads when its command runs. */
export class RunFollower implements Follower {
  readonly #run: RunProcess;

  constructor({ endpoints, nodeId, ttlMs }: FollowerOptions, directory: string) {
    this.#run = new RunProcess({ server: endpoints.join(","), nodeId, directory, ttl: `${ttlMs}ms` });
  }

  follows(): Promise<void> {
    return Promise.resolve();
  }

  async leads(): Promise<number> {
    await this.#run.runsAfter(0);
    return performance.now();
  }

  kill(): Promise<void> {
    return this.#run.kill();
  }
}
