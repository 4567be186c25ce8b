import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";

export type Child = ChildProcessByStdio<null, Readable, Readable>;

const READY = /^tenure listening on (https?:\/\/\S+:(\d+)) \(store: \S+\)$/;

/** A running `tenure serve`. */
export class ServerProcess {
  readonly readyLine: string;
  readonly url: string;
  readonly port: number;
  readonly #child: Child;
  readonly #stderr: () => string;

  private constructor(child: Child, readyLine: string, stderr: () => string) {
    const [, url = "", port] = READY.exec(readyLine) ?? [];
    this.readyLine = readyLine;
    this.url = url;
    this.port = Number(port);
    this.#child = child;
    this.#stderr = stderr;
  }

  /** Waits for the ready line; rejects with its output if it ends instead. */
  static ready(child: Child): Promise<ServerProcess> {
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    return new Promise((resolve, reject) => {
      // Its output is read to the end: a full pipe would block it.
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (line.startsWith("tenure ")) resolve(new ServerProcess(child, line, () => stderr));
      });
      child.once("close", (code, signal) => {
        reject(new Error(`tenure serve ended with ${code ?? signal} before it was ready: ${stderr}`));
      });
    });
  }

  /** Its error output so far. */
  get stderr(): string {
    return this.#stderr();
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
    const exited = once(this.#child, "exit");
    this.#child.kill(signal);
    await exited;
    return this.#child.exitCode;
  }
}
