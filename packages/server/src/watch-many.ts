/**
 * Watches of several groups as one stream. An event carries its number, by which its group is resumed. A group that may not or
 * cannot be watched is shown as an error in its place, and the others go on; a server or store that fails ends all of them.
 */
import { eventShape } from "@tenure/api";
import type { WatchManyItem } from "@tenure/core";
import { asServiceError, type ServiceError, serviceErrorOf } from "./service-error.js";
import type { StreamItem } from "./watch.js";

export interface WatchManyDeps {
  readonly items: AsyncIterable<readonly WatchManyItem[]>;
  /** Those that the caller may not watch. */
  readonly refused: readonly { readonly groupId: string; readonly refusal: ServiceError }[];
  /** Called with 1 for each group that is refused later, and at the end for all that are left. */
  readonly leave: (watches?: number) => void;
}

/** Items that are ready at the same time come in one array. Not a generator: `return` must end it while it waits. */
export class WatchMany implements AsyncIterableIterator<readonly StreamItem[], undefined> {
  readonly #items: AsyncIterator<readonly WatchManyItem[]>;
  readonly #leave: (watches?: number) => void;
  #refused: readonly StreamItem[];

  constructor({ items, refused, leave }: WatchManyDeps) {
    this.#items = items[Symbol.asyncIterator]();
    this.#refused = refused.map(({ groupId, refusal }) => refusalItem(groupId, refusal));
    this.#leave = leave;
  }

  async next(): Promise<IteratorResult<readonly StreamItem[], undefined>> {
    if (this.#refused.length > 0) {
      const value = this.#refused;
      this.#refused = [];
      return { done: false, value };
    }
    try {
      const result = await this.#items.next();
      if (result.done !== true) return { done: false, value: result.value.map((item) => this.#sent(item)) };
      this.#leave();
      return { done: true, value: undefined };
    } catch (error) {
      this.#leave();
      throw asServiceError(error);
    }
  }

  async return(): Promise<IteratorResult<readonly StreamItem[], undefined>> {
    this.#leave();
    await this.#items.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #sent(item: WatchManyItem): StreamItem {
    if ("error" in item) {
      this.#leave(1);
      return refusalItem(item.groupId, serviceErrorOf(item.error));
    }
    return { event: { ...eventShape(item.groupId, item), number: item.cursor }, cursor: null };
  }
}

function refusalItem(groupId: string, refusal: ServiceError): StreamItem {
  return { event: { group_id: groupId, ...refusal.reply() }, cursor: null };
}
