/** Programs as users run them. Everything started here has ended after `cleanUp`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findCommand, standsStill } from "@tenure/engines";

export type Environment = Readonly<Record<string, string>>;

const running = new Set<Program>();
// The test runner may end before `cleanUp`.
process.once("exit", () => {
  for (const program of running) program.signal("SIGKILL");
});

export async function cleanUp(): Promise<void> {
  await Promise.all([...running].map((program) => program.end("SIGKILL")));
}

export function pathOf(file: string): string {
  return fileURLToPath(new URL(`../../${file}`, import.meta.url));
}

export class Program {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  /** Runs a file of the repository: `.js` with Node, `.py` with Python, anything else by itself. */
  constructor(file: string, args: readonly string[], env: Environment = {}) {
    const interpreter = file.endsWith(".js") ? [process.execPath] : file.endsWith(".py") ? [python()] : [];
    const [command = "", ...words] = [...interpreter, pathOf(file), ...args];
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("TENURE_"));
    this.#child = spawn(command, words, {
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    running.add(this);
    if (this.#child.stdout === null) throw new Error("a program without output");
    createInterface(this.#child.stdout).on("line", (line) => {
      this.lines.push(line);
      this.#wake();
    });
    // Not "exit": the programs that it has started may still run, and hold its output.
    this.#child.once("close", () => {
      this.#isClosed = true;
      running.delete(this);
      this.#wake();
    });
  }

  /** Resolves as soon as `find` returns something, now or after a later line. */
  async until<T>(find: (lines: readonly string[]) => T | null | undefined): Promise<T> {
    for (;;) {
      const found = find(this.lines);
      if (found !== null && found !== undefined) return found;
      if (this.#isClosed) throw new Error(`it ended and printed only: ${this.lines.join("; ")}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** The first group of the first line that matches, now or later. */
  said(pattern: RegExp): Promise<string> {
    return this.until((lines) => {
      const match = lines.map((line) => pattern.exec(line)).find((each) => each !== null);
      return match?.[1] ?? match?.[0];
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves when no thread of it runs. */
  async pause(): Promise<void> {
    this.signal("SIGSTOP");
    await standsStill(this.#child.pid as number);
  }

  resume(): void {
    this.signal("SIGCONT");
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const closed = this.#isClosed ? null : once(this.#child, "close");
    this.signal(signal);
    await closed;
    return this.#child.exitCode;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** `tenure serve` with an empty store, for all tests of a file. */
export async function serve(args: readonly string[] = []): Promise<string> {
  const common = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "silent"];
  return new Program("packages/cli/bin/tenure.js", [...common, ...args]).said(/listening on (\S+)/);
}

function python(): string {
  return findCommand("python3") ?? "python3";
}
