/** Programs as users run them. Everything started here has ended after `cleanUp`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const running: ChildProcess[] = [];

export async function cleanUp(): Promise<void> {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}

export class Program {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #told = (): void => {};

  /** `file` from the root of the repository. */
  constructor(file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
    this.#child = spawn(process.execPath, [path, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.push(this.#child);
    if (this.#child.stdout === null) throw new Error("a program without output");
    createInterface(this.#child.stdout).on("line", (line) => {
      this.lines.push(line);
      this.#told();
    });
    this.#child.once("exit", () => this.#told());
  }

  /** The first group of the first line that matches, now or later. */
  async said(pattern: RegExp): Promise<string> {
    for (;;) {
      const match = this.lines.map((line) => pattern.exec(line)).find((each) => each !== null);
      if (match !== undefined) return match[1] ?? match[0];
      if (this.#child.exitCode !== null) throw new Error(`it ended and said only: ${this.lines.join("; ")}`);
      await new Promise<void>((resolve) => {
        this.#told = resolve;
      });
    }
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const closed = once(this.#child, "close");
    this.#child.kill(signal);
    await closed;
    return this.#child.exitCode;
  }
}
