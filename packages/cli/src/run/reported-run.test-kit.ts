/** `tenure run --json` or `tenure elect --json` as a process, and what it reports. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));

export interface Reported {
  readonly event: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface ReportedRunOptions {
  readonly command?: "run" | "elect";
  readonly server: string;
  readonly group: string;
  /** Options, then `--` and the command. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class ReportedRun implements AsyncDisposable {
  readonly reports: Reported[] = [];
  stdout = "";
  /** Lines of stderr that are not reports: those of the command. */
  readonly others: string[] = [];
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  /** The number of reports up to the last one of each event that `next` has returned. */
  readonly #seen = new Map<string, number>();

  constructor({ command = "run", server, group, args, env = {} }: ReportedRunOptions) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TENURE_"));
    this.#child = spawn(process.execPath, [COMMAND, command, group, "--server", server, "--json", ...args], {
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    // A test that takes too long does not dispose of it.
    process.once("exit", this.#kill);
    this.#closed = once(this.#child, "close").finally(() => {
      process.off("exit", this.#kill);
      this.#wake();
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#wake();
    });
    createInterface({ input: this.#child.stderr as NodeJS.ReadableStream }).on("line", (line) => {
      if (line.startsWith("{")) this.reports.push(JSON.parse(line) as Reported);
      else this.others.push(line);
      this.#wake();
    });
  }

  get events(): readonly string[] {
    return this.reports.map(({ event }) => event);
  }

  /** The next report of this event that was not returned before. Rejects with everything reported if the process ends first. */
  async next(event: string): Promise<Reported> {
    const from = this.#seen.get(event) ?? 0;
    const find = (): number => this.reports.findIndex((each, index) => index >= from && each.event === event);
    await this.until(`a report ${event}`, () => find() >= 0);
    const index = find();
    this.#seen.set(event, index + 1);
    return this.reports[index] as Reported;
  }

  async until(what: string, isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        await this.#closed;
        if (isSo()) return;
        throw new Error(`tenure ended before ${what}: ${JSON.stringify(this.reports, null, 1)}`);
      }
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Waits for its end; returns its exit code. */
  async ended(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.#child.kill(signal);
    return this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#closed;
  }

  readonly #kill = (): void => {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
  };

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
