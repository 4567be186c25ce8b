/** A program of the documentation as a process. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";

export class Program {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #closed: Promise<unknown>;
  readonly #name: string;
  #output = "";
  #errors = "";
  #heard = (): void => {};

  constructor(
    directory: string,
    name: string,
    environment: Readonly<Record<string, string>>,
    args: readonly string[],
  ) {
    const inherited = Object.entries(process.env).filter(([key]) => !/^(TENURE|COORDINATOR)_/.test(key));
    this.#name = name;
    this.#child = spawn(process.execPath, [`${name}.js`, ...args], {
      cwd: directory,
      env: { ...Object.fromEntries(inherited), ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      this.#heard();
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    this.#closed = once(this.#child, "close").then(() => this.#heard());
  }

  get lines(): readonly string[] {
    return this.#output.split("\n").filter((line) => line !== "");
  }

  /** The first match in its output; rejects when it has ended without one. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found !== null) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(
          `${this.#name} ended without printing ${String(pattern)}: ${this.#output}${this.#errors}`,
        );
      }
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Its output, once it has exited with 0. */
  async ended(): Promise<readonly string[]> {
    await this.#closed;
    if (this.#child.exitCode !== 0) {
      const how = this.#child.signalCode ?? `code ${String(this.#child.exitCode)}`;
      throw new Error(`${this.#name} ended with ${how}: ${this.#output}${this.#errors}`);
    }
    return this.lines;
  }

  /** Stops it as an init system does. */
  stop(): Promise<readonly string[]> {
    this.#child.kill("SIGTERM");
    return this.ended();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }
}
