/**
 * Not the server's `ReloadedFiles`: a client needs a file only when it sends a request, so it checks the file then, without a watch or
 * timer that somebody has to close, and it keeps the text of a deleted file, because the server decides whether a credential is valid.
 */
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "@tenure/core";

/** A file is checked at most once in this time. */
const LOOK_MS = 1000;

/** The text of a file, read again when the file has changed. If the file cannot be read any more, the last text stays. */
export class WatchedFile {
  readonly #path: string;
  readonly #clock: Clock;
  #lookedAtMs = 0;
  #mark = "";
  #text = "";

  private constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  /** Rejects if the file cannot be read. */
  static async open(path: string, clock: Clock): Promise<WatchedFile> {
    const file = new WatchedFile(path, clock);
    await file.#look();
    return file;
  }

  get text(): string {
    return this.#text;
  }

  /** Reads the file again if it has changed. With `now` the file is checked at once: a server has refused the text. */
  async refresh(now = false): Promise<void> {
    if (!now && this.#clock.monotonicMs() - this.#lookedAtMs < LOOK_MS) return;
    await this.#look().catch(() => {});
  }

  async #look(): Promise<void> {
    this.#lookedAtMs = this.#clock.monotonicMs();
    const { mtimeMs, size, ino } = await stat(this.#path);
    const mark = `${mtimeMs} ${size} ${ino}`;
    if (mark === this.#mark) return;
    this.#text = await readFile(this.#path, "utf8");
    this.#mark = mark;
  }
}
