import { readFile, stat } from "node:fs/promises";
import type { Clock } from "@tenure/core";

/** The shortest time between two looks at a file. */
const LOOK_MS = 1000;

/** The text of a file, read again when the file has changed. If the file can no longer be read, the last text stays. */
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

  /** Rejects if the file cannot be read at all. */
  static async open(path: string, clock: Clock): Promise<WatchedFile> {
    const file = new WatchedFile(path, clock);
    await file.#look();
    return file;
  }

  get text(): string {
    return this.#text;
  }

  /** `now`: the text proved to be outdated, so look regardless of the last look. */
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
