/**
 * The `tenure` command as real processes, and directories for them. Everything that a test starts here is gone after
 * `close`, and also if the test's own process ends before.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Child, ServerProcess } from "./server-process.test-kit.js";

const COMMAND = fileURLToPath(new URL("../bin/tenure.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Environment = Readonly<Record<string, string>>;

export class Scratch {
  readonly #children = new Set<ChildProcess>();
  readonly #directories: string[] = [];
  readonly #atExit = (): void => {
    for (const child of this.#children) child.kill("SIGKILL");
    this.#removeDirectories();
  };

  /** An interrupted test runner ends its workers with this signal. */
  readonly #atSignal = (): void => process.exit(1);

  constructor() {
    process.once("exit", this.#atExit).once("SIGTERM", this.#atSignal).once("SIGINT", this.#atSignal);
  }

  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), "tenure-cli-"));
    this.#directories.push(directory);
    return directory;
  }

  /** A command that ends by itself. If it does not, the time limit of the test ends the wait, and `close` the command. */
  async run(args: readonly string[], environment: Environment = {}): Promise<Ended> {
    const child = this.#spawn(args, environment);
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    return { code: child.exitCode, stdout, stderr };
  }

  /** A command that runs until `close`, or until the test kills it. */
  start(args: readonly string[], environment: Environment = {}): ChildProcess {
    const child = this.#spawn(args, environment);
    // A full pipe would block it.
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    return child;
  }

  /** `tenure serve`, ready for requests. */
  serve(
    args: readonly string[],
    environment: Environment = {},
    inside: readonly string[] = [],
  ): Promise<ServerProcess> {
    return ServerProcess.ready(this.#spawn(["serve", ...args], environment, inside));
  }

  /** A server on a free port that keeps everything in memory and logs only errors. */
  memoryServer(): Promise<ServerProcess> {
    return this.serve(["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "error"]);
  }

  async close(): Promise<void> {
    process.off("exit", this.#atExit).off("SIGTERM", this.#atSignal).off("SIGINT", this.#atSignal);
    await Promise.all(
      [...this.#children].map(async (child) => {
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }),
    );
    this.#removeDirectories();
  }

  #spawn(args: readonly string[], environment: Environment, inside: readonly string[] = []): Child {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TENURE_"));
    const [file = "", ...words] = [...inside, process.execPath, COMMAND, ...args];
    const child = spawn(file, words, {
      // A directory without `tenure-data`, in which leaving out the store does no harm.
      cwd: this.#directories[0] ?? tmpdir(),
      env: { ...Object.fromEntries(inherited), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }

  #removeDirectories(): void {
    for (const directory of this.#directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  }
}
