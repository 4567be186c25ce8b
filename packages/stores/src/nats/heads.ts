import { randomInt, randomUUID } from "node:crypto";
import { headNameOf } from "./key-names.js";

const HEADS = 1024;

/**
 * The names that the barriers of one store are written to. A barrier tells which ones it replaces, which its writer
 * knows only if nobody else writes to the same name, and itself not twice at a time. So each barrier under way has a
 * name to itself, and the next one uses it again.
 *
 * There are not more than `HEADS` names, lest every process that ever was leaves one behind. Two stores may therefore
 * hit upon the same: whoever sees a barrier of another there takes a new one.
 */
export class Heads {
  /** Written into each barrier. */
  readonly owner: string = randomUUID();
  /** All that were ever taken: one that was left is not taken again. */
  readonly #taken = new Set<string>();
  readonly #left = new Set<string>();
  #free: string[] = [];

  take(): string {
    return this.#free.pop() ?? this.#another();
  }

  giveBack(name: string): void {
    if (!this.#left.has(name)) this.#free.push(name);
  }

  /** A barrier has been seen there. */
  see(name: string, owner: string): void {
    if (owner === this.owner || !this.#taken.has(name)) return;
    this.#left.add(name);
    this.#free = this.#free.filter((each) => each !== name);
  }

  #another(): string {
    let name: string;
    do name = headNameOf(randomInt(HEADS));
    while (this.#taken.has(name) && this.#taken.size < HEADS);
    this.#taken.add(name);
    return name;
  }
}
