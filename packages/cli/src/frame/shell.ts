/**
 * The environment of a command: its output, the environment variables, the clock, the signal that ends it, and its exit code. All of
 * them are passed in, so that a test can run a command without a process.
 */
import type { Clock } from "@tenure/core";
import type { Connection, ConnectionFlags, Target } from "./connection.js";
import { type Cell, type Paint, paintFor, table } from "./text.js";

/** The exit codes of commands, for scripts. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, notLeader: 3, unavailable: 4 } as const;

/** One of `EXIT`, or the exit code of the command that `tenure run` ran. */
export type ExitCode = number;
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Writer {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** The width of the terminal. */
  readonly columns?: number | undefined;
}

export interface ShellOptions {
  readonly out: Writer;
  /** The input is a terminal. */
  readonly hasKeyboard?: boolean;
  readonly err: Writer;
  readonly env: Environment;
  /** Aborted when the user wants the command to end. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/** The reason of the signal when the reader of the output is gone. The command ends, and that is not a failure. */
export const READER_GONE: Error = new Error("the reader of the output has gone");

export interface OutputFlags {
  readonly json?: true | undefined;
  readonly output?: "text" | "wide" | "json" | undefined;
}

export class Shell {
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly paint: Paint;
  exitCode: ExitCode = EXIT.done;
  isJson = false;
  /** More columns, and ids in full. */
  isWide = false;
  /** What is wrong with the command line, as the parser reports it. */
  wrongUse = "";
  /** The options of the command that runs, as parsed. An error names the value that was given. */
  given: Readonly<Record<string, unknown>> = {};
  /** Where the command connects to; an error suggests the next step for it. */
  target: Target | null = null;
  /** Input and output are a terminal, so that the user can press keys. */
  readonly isInteractive: boolean;
  readonly #out: Writer;
  readonly #err: Writer;
  #clock: Clock | undefined;

  constructor({ out, err, env, signal, clock, hasKeyboard = false }: ShellOptions) {
    this.#out = out;
    this.#err = err;
    this.env = env;
    this.signal = signal;
    this.#clock = clock;
    this.isInteractive = hasKeyboard && out.isTTY === true;
    this.paint = paintFor(out.isTTY === true, env);
  }

  get clock(): Clock {
    if (this.#clock === undefined) throw new Error("a shell has a clock only after load()");
    return this.#clock;
  }

  /** Loads what a command needs to run; the help and the version do without, and start faster. */
  async load(): Promise<void> {
    this.#clock ??= (await import("@tenure/core")).systemClock;
  }

  /** Whether progress may be shown: the output is a terminal, not a file. */
  get isWatched(): boolean {
    return this.#err.isTTY === true && !this.isJson;
  }

  /** The width of the terminal for tables; `null` in a pipe or a file, where nothing is clipped. */
  get columns(): number | null {
    return this.#out.isTTY === true && !this.isWide ? (this.#out.columns ?? null) : null;
  }

  /** Rows as lines that fit the terminal. */
  table(rows: readonly (readonly Cell[])[]): string[] {
    return table(rows, { columns: this.columns, paint: this.paint });
  }

  write(text: string): void {
    this.#out.write(text);
  }

  writeError(text: string): void {
    this.#err.write(text);
  }

  /** Lines for people, or the same as JSON for programs, on one line. */
  say(value: unknown, ...lines: readonly string[]): void {
    if (this.isJson) this.write(`${JSON.stringify(value)}\n`);
    else for (const line of lines) this.write(`${line}\n`);
  }

  /** Reports progress, apart from the result. */
  remark(message: string, more: object = {}): void {
    this.writeError(this.isJson ? `${JSON.stringify({ message, ...more })}\n` : `tenure: ${message}\n`);
  }

  /** Runs the body of a command with the connection that its options name; the body returns the exit code. */
  async connected(
    flags: ConnectionFlags & OutputFlags,
    work: (connection: Connection) => Promise<ExitCode>,
  ): Promise<void> {
    this.isJson = flags.json === true || flags.output === "json";
    this.isWide = flags.output === "wide";
    const { openTarget, targetOf } = await import("./connection.js");
    this.target = targetOf(flags, this.env);
    const connection = await openTarget(this.target);
    try {
      this.exitCode = await work(connection);
    } finally {
      await connection.close();
    }
  }
}
