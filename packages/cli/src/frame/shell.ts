/**
 * What a command has around it: where it writes, what the user's environment says, the time, and the wish that it
 * ends. Everything comes in, so that a test can run a command without a process.
 */
import { type Clock, systemClock } from "@tenure/core";
import { type Connection, type ConnectionFlags, openConnection } from "./connection.js";
import { type Paint, paintFor } from "./text.js";

/** What a command's end means to a script. */
export const EXIT = { done: 0, failed: 1, wrongUse: 2, notLeader: 3, unavailable: 4 } as const;

/** One of `EXIT`, or that of a command that was run. */
export type ExitCode = number;
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Writer {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
}

export interface ShellOptions {
  readonly out: Writer;
  /** Somebody sits at a keyboard. */
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
  /** Somebody looks, and can press keys. */
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

  /** Whether progress may be shown: somebody looks, and it will not end up in a file. */
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

  /** What happens meanwhile, apart from the result. */
  remark(message: string, more: object = {}): void {
    this.writeError(this.isJson ? `${JSON.stringify({ message, ...more })}\n` : `tenure: ${message}\n`);
  }

  /** Runs the body of a command over what its options name; what it returns is the exit code. */
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
