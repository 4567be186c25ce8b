/**
 * The whole of a terminal, by its control sequences. However the process ends, short of `kill -9`, the terminal is given
 * back as it was: the screen behind, the cursor, the keyboard.
 */
import type { ReadStream, WriteStream } from "node:tty";
import type { Size } from "./draw.js";

const ENTER = "\u001B[?1049h\u001B[?25l\u001B[?7l\u001B[2J";
const LEAVE = "\u001B[?7h\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const CLEAR_LINE = "\u001B[2K";
const SUSPEND_KEY = "\u001A";

export interface TerminalListener {
  key(key: string): void;
  resized(): void;
}

export class Terminal {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  readonly #listener: TerminalListener;
  #isTaken = false;
  readonly #release = (): void => this.release();
  readonly #resized = (): void => this.#listener.resized();
  readonly #continued = (): void => {
    this.#take();
    this.#listener.resized();
  };
  readonly #read = (chunk: Buffer): void => {
    for (const key of keysOf(chunk.toString("utf8"))) {
      if (key === SUSPEND_KEY) this.#suspend();
      else this.#listener.key(key);
    }
  };

  constructor(input: ReadStream, output: WriteStream, listener: TerminalListener) {
    this.#input = input;
    this.#output = output;
    this.#listener = listener;
  }

  get size(): Size {
    return { columns: this.#output.columns, rows: this.#output.rows };
  }

  open(): void {
    process.on("exit", this.#release).on("SIGCONT", this.#continued);
    this.#input.on("data", this.#read);
    this.#output.on("resize", this.#resized);
    this.#take();
  }

  close(): void {
    this.release();
    process.off("exit", this.#release).off("SIGCONT", this.#continued);
    this.#input.off("data", this.#read).pause();
    this.#output.off("resize", this.#resized);
  }

  show(lines: readonly string[]): void {
    if (!this.#isTaken) return;
    // In one write, because a half-drawn screen flickers. Each line is cleared first: after a full line the cursor is on its last character.
    this.#output.write(`${HOME}${lines.map((line) => CLEAR_LINE + line).join("\r\n")}`);
  }

  /** Idempotent. */
  release(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#input.setRawMode(false);
    this.#output.write(LEAVE);
  }

  #take(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#input.setRawMode(true);
    this.#input.resume();
    this.#output.write(ENTER);
  }

  /** Ctrl-Z: the shell gets its terminal back until `fg`. */
  #suspend(): void {
    this.release();
    process.kill(process.pid, "SIGTSTP");
  }
}

/** Splits input into keys: several may arrive at once, and some are escape sequences. */
export function keysOf(text: string): string[] {
  // oxlint-disable-next-line no-control-regex -- keys are control characters
  return text.match(/\u001B\[[0-9;]*[A-Za-z~]|\u001BO[A-Z]|[\s\S]/gu) ?? [];
}
