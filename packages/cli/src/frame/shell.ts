/**
 * The environment of a command: its output, the environment variables, the clock, the signal that ends it, and its exit code. All of
 * them are passed in, so that a test can run a command without a process.
 */
import { type Clock, systemClock } from "@tenure/core";
import { type Connection, type ConnectionFlags, openConnection } from "./connection.js";
import { type Paint, paintFor } from "./text.js";

/** The exit codes of commands, for scripts. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, notLeader: 3, unavailable: 4 } as const;

/** One of `EXIT`, or the exit code of the command that `tenure run` ran. */
export type ExitCode = number;
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Writer {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
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
}

export class Shell {
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly paint: Paint;
  exitCode: ExitCode = EXIT.done;
  isJson = false;
  /** Input and output are a terminal, so that the user can press keys. */
  readonly isInteractive: boolean;
  readonly #out: Writer;
  readonly #err: Writer;

  constructor({ out, err, env, signal, clock = systemClock, hasKeyboard = false }: ShellOptions) {
    this.#out = out;
    this.#err = err;
    this.env = env;
    this.signal = signal;
    this.clock = clock;
    this.isInteractive = hasKeyboard && out.isTTY === true;
    this.paint = paintFor(out.isTTY === true, env);
  }

  /** Whether progress may be shown: the output is a terminal, not a file. */
  get isWatched(): boolean {
    return this.#err.isTTY === true && !this.isJson;
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
    this.isJson = flags.json === true;
    const connection = await openConnection(flags, this.env);
    try {
      this.exitCode = await work(connection);
    } finally {
      await connection.close();
    }
  }
}
