/** A leader in a separate process, which can be frozen by SIGSTOP. Run as a program, this file is that process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { fenced, type FencedOptions } from "./fenced.js";

/**
 * `pausing`: waits between two statements until its input ends. `reading`: reads an answer too large for the network's
 * buffers.
 */
export type LeaderMode = "pausing" | "reading";

const PROGRAM = fileURLToPath(new URL("../../dist/postgres/leader-process.test-kit.js", import.meta.url));
const LARGE = "SELECT repeat('x', 1000000) FROM generate_series(1, 1000)";

export class LeaderProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(url: string, options: FencedOptions, mode: LeaderMode) {
    const args = [PROGRAM, url, JSON.stringify(options), mode];
    this.#child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    this.#lines = lines[Symbol.asyncIterator]();
  }

  async says(): Promise<unknown> {
    const line = (await this.#lines.next()) as IteratorResult<string, string>;
    return JSON.parse(line.value) as unknown;
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
    this.#child.stdin?.end();
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }
}

/** Writes inside a fenced transaction, reports it, continues by its mode, and reports how the transaction ended. */
async function lead(url: string, options: FencedOptions, mode: LeaderMode): Promise<void> {
  const say = (what: object) => writeSync(1, `${JSON.stringify(what)}\n`);
  const client = new Client(url);
  await client.connect();
  try {
    await fenced(client, options, async (transaction) => {
      await transaction.query("INSERT INTO job VALUES (1)");
      const paused = mode === "pausing" ? once(process.stdin.resume(), "end") : transaction.query(LARGE);
      say({ wrote: true });
      await paused;
    });
    say({ committed: true });
  } catch (error) {
    say({ committed: false, code: (error as { code?: unknown }).code });
  }
  await client.end().catch(() => undefined);
}

if (process.argv[1] === PROGRAM) {
  const [url = "", options = "", mode = "pausing"] = process.argv.slice(2);
  await lead(url, JSON.parse(options) as FencedOptions, mode as LeaderMode);
}
