import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";

export type Child = ChildProcessByStdio<null, Readable, Readable>;

const READY = /^tenure listening on (https?:\/\/\S+:(\d+)) \(store: \S+\)$/;

interface Output {
  stdout: string;
  stderr: string;
}

/** A running `tenure serve`. */
export class ServerProcess {
  readonly readyLine: string;
  readonly url: string;
  readonly port: number;
  readonly #child: Child;
  readonly #output: Output;

  private constructor(child: Child, readyLine: string, output: Output) {
    const [, url = "", port] = READY.exec(readyLine) ?? [];
    this.readyLine = readyLine;
    this.url = url;
    this.port = Number(port);
    this.#child = child;
    this.#output = output;
  }

  /** Waits for the ready line; rejects with its output if it ends instead. */
  static ready(child: Child): Promise<ServerProcess> {
    const output: Output = { stdout: "", stderr: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    return new Promise((resolve, reject) => {
      // Its output is read to the end: a full pipe would block it.
      createInterface({ input: child.stdout }).on("line", (line) => {
        output.stdout += `${line}\n`;
        if (line.startsWith("tenure ")) resolve(new ServerProcess(child, line, output));
      });
      child.once("close", (code, signal) => {
        reject(new Error(`tenure serve ended with ${code ?? signal} before it was ready: ${output.stderr}`));
      });
    });
  }

  /** Its error output so far. */
  get stderr(): string {
    return this.#output.stderr;
  }

  /** The lines of its standard output so far. */
  get stdout(): string {
    return this.#output.stdout;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Sends the signal and waits for the end; resolves to the exit code, `null` if the signal ended it. */
  async end(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): Promise<number | null> {
    if (!this.isRunning) return this.#child.exitCode;
    // Not "exit": its output may still be on the way.
    const ended = once(this.#child, "close");
    this.#child.kill(signal);
    await ended;
    return this.#child.exitCode;
  }
}
