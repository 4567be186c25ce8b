import type { Clock } from "@tenure/core";

/** What happened, line by line. The hash shows whether two runs were the same without keeping either. */
export class Trace {
  readonly #time: Clock;
  readonly #print: ((line: string) => void) | undefined;
  #hash = 0x811c9dc5;
  #lines = 0;

  constructor(time: Clock, print?: (line: string) => void) {
    this.#time = time;
    this.#print = print;
  }

  note(who: string, what: string): void {
    const line = `${this.#time.monotonicMs().toFixed(3).padStart(10)} ${who.padEnd(6)} ${what}`;
    this.#lines++;
    for (let i = 0; i < line.length; i++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(i), 0x01000193);
    this.#print?.(line);
  }

  get digest(): string {
    return `${this.#lines}-${(this.#hash >>> 0).toString(16).padStart(8, "0")}`;
  }
}
