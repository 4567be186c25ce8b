/** Nodes as processes, and what their children printed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { standsStill } from "@tenure/engines";
import type { NodeOptions } from "./coordinator-node.test-kit.js";

const SCRIPT = fileURLToPath(new URL("../../dist/coordinator/coordinator-node.test-kit.js", import.meta.url));

/** From the start of a child to its last sign of life, on the clock that all processes share. */
export interface Span {
  readonly nodeId: string;
  readonly term: number;
  readonly fromMs: number;
  untilMs: number;
  /** It ended by itself and was not killed. */
  stopped: boolean;
}

export class CoordinatorProcess {
  readonly nodeId: string;
  readonly spans: Span[] = [];
  /** What it printed about its leaderships: `leads 3`, `lapsed`. */
  readonly told: string[] = [];
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #closed: Promise<unknown>;
  #isReady = false;
  #stderr = "";
  #waiting: (() => void)[] = [];

  constructor(options: NodeOptions, before: readonly string[] = []) {
    this.nodeId = options.nodeId;
    const [file, ...args] = [...before, process.execPath, SCRIPT, JSON.stringify(options)];
    this.#child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = once(this.#child, "exit");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => this.#hear(line));
    this.#closed = once(lines, "close");
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Whether its child runs, as far as its output shows. */
  get leads(): boolean {
    return this.isRunning && this.spans.at(-1)?.stopped === false;
  }

  /** Resolves when a message arrived for which `is` is true; rejects if the process ends before. */
  async heard(is: (process: this) => boolean): Promise<void> {
    while (!is(this)) {
      if (!this.isRunning) throw new Error(`${this.nodeId} has ended: ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        void this.#exited.then(() => resolve());
      });
    }
  }

  ready(): Promise<void> {
    return this.heard(() => this.#isReady);
  }

  /** Resolves with the time at which its child started in a later term than `term`. */
  async startedAfter(term: number): Promise<Span> {
    await this.heard(() => (this.spans.at(-1)?.term ?? 0) > term);
    return this.spans.at(-1) as Span;
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.#exited;
    await this.#closed;
  }

  async pause(): Promise<void> {
    this.#child.kill("SIGSTOP");
    await standsStill(this.#child.pid as number);
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  async close(): Promise<void> {
    if (!this.isRunning) return;
    this.resume();
    await this.end("SIGKILL");
  }

  #hear(line: string): void {
    const [time = "", what = "", term = ""] = line.split(" ");
    const atMs = Number(time);
    const span = this.spans.at(-1);
    if (what === "ready") this.#isReady = true;
    if (what === "told")
      this.told.push(`${Math.round(atMs)} ${this.nodeId} ${line.slice(line.indexOf("told") + 5)}`);
    if (what === "start") {
      this.spans.push({
        nodeId: this.nodeId,
        term: Number(term),
        fromMs: atMs,
        untilMs: atMs,
        stopped: false,
      });
    } else if (span !== undefined && (what === "tick" || what === "stop")) {
      span.untilMs = atMs;
      if (what === "stop") span.stopped = true;
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** The messages of several processes, in the order in which they happened. */
export function toldBy(nodes: readonly CoordinatorProcess[]): string {
  return nodes
    .flatMap(({ told }) => told)
    .toSorted((a, b) => Number.parseFloat(a) - Number.parseFloat(b))
    .join("; ");
}

/** Any two children that ran at the same time. */
export function overlaps(spans: readonly Span[]): readonly (readonly [Span, Span])[] {
  const sorted = spans.toSorted((a, b) => a.fromMs - b.fromMs);
  return sorted.flatMap((span, index) =>
    sorted
      .slice(index + 1)
      .filter((later) => later.fromMs <= span.untilMs)
      .map((later) => [span, later] as const),
  );
}

export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
