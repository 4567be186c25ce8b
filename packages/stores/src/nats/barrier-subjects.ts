import { randomInt, randomUUID } from "node:crypto";
import { barrierNameOf } from "./key-names.js";

const MAX_NAMES = 1024;

/**
 * The subjects to which the barriers of one store are written. A barrier states which earlier ones it replaces. Its writer
 * knows them only if no other store writes to the same subject, and it does not do so twice at a time itself. So each
 * barrier in flight has a subject to itself, which the next barrier uses again.
 *
 * There are at most `MAX_NAMES` subjects, so that processes that have ended leave a bounded number of messages behind. Two
 * stores may therefore choose the same one: a store that sees a barrier of another store there chooses a new one.
 */
export class BarrierSubjects {
  /** Written into each barrier. */
  readonly owner: string = randomUUID();
  /** All that were ever taken. One that was left is not taken again. */
  readonly #taken = new Set<string>();
  readonly #left = new Set<string>();
  #free: string[] = [];

  take(): string {
    return this.#free.pop() ?? this.#another();
  }

  giveBack(name: string): void {
    if (!this.#left.has(name)) this.#free.push(name);
  }

  /** A barrier of `owner` was delivered on that subject. */
  see(name: string, owner: string): void {
    if (owner === this.owner || !this.#taken.has(name)) return;
    this.#left.add(name);
    this.#free = this.#free.filter((each) => each !== name);
  }

  #another(): string {
    let name: string;
    do name = barrierNameOf(randomInt(MAX_NAMES));
    while (this.#taken.has(name) && this.#taken.size < MAX_NAMES);
    this.#taken.add(name);
    return name;
  }
}
