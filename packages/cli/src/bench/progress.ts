import type { Shell } from "../frame/shell.js";

const WIDTH = 30;
const CLEAR_LINE = "\r\u001B[K";

/** A progress bar on the last line of a terminal; nothing if the output is not a terminal. */
export class Progress {
  readonly #shell: Shell;
  #shown = "";

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  show(what: string, share: number): void {
    if (!this.#shell.isWatched) return;
    const full = Math.round(Math.min(1, Math.max(0, share)) * WIDTH);
    const percent = `${Math.round(share * 100)}`.padStart(3);
    const line = `[${"█".repeat(full)}${"░".repeat(WIDTH - full)}] ${percent} %  ${what}`;
    if (line === this.#shown) return;
    this.#shown = line;
    this.#shell.writeError(`${CLEAR_LINE}${line}`);
  }

  clear(): void {
    if (this.#shown !== "") this.#shell.writeError(CLEAR_LINE);
    this.#shown = "";
  }
}
