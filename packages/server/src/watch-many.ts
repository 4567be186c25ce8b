/**
 * Watches of several groups as one. Each is pulled one event ahead, so a slow reader costs one event for each group: it
 * falls behind in each by itself, and past the events that are kept it gets a RESYNC of that group alone.
 *
 * An event carries its number, by which its group is resumed. A group that may not be watched is told so in its place, and the
 * others go on; a server or store that fails ends all of them.
 */
import type { Slices } from "@tenure/core";
import { type ServiceCode, ServiceError } from "./service-error.js";
import { type StreamItem, Watch, type WatchItem } from "./watch.js";

/** What is said of one group and of no other. */
const OF_ONE_GROUP: ReadonlySet<ServiceCode> = new Set([
  "UNAUTHORIZED",
  "GROUP_NOT_FOUND",
  "INVALID_REQUEST",
]);

/**
 * Watches that are opened or closed in one turn of the event loop, two milliseconds' worth: a renewal does not wait for the
 * thousand watches of a stream, nor for those of fifty streams that end together.
 */
const SLICE_WATCHES = 100;

interface Ready {
  /** To be pulled again when this was taken; `null` if there is nothing more to come of it. */
  readonly watch: Watch | null;
  readonly groupId: string;
  readonly item: StreamItem;
}

export class WatchMany implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #watches: ReadonlyMap<string, Watch | ServiceError>;
  readonly #slices: Slices;
  readonly #ready: Ready[] = [];
  #hasBegun = false;
  #hasLeft = false;
  #failure: { readonly error: unknown } | null = null;
  #wake = (): void => {};

  /** `slices` are shared by all streams of a server. */
  constructor(watches: ReadonlyMap<string, Watch | ServiceError>, slices: Slices) {
    this.#watches = watches;
    this.#slices = slices;
  }

  async next(): Promise<IteratorResult<StreamItem, undefined>> {
    if (!this.#hasBegun) void this.#begin();
    for (;;) {
      if (this.#hasLeft) return { done: true, value: undefined };
      const ready = this.#ready.shift();
      if (ready !== undefined) {
        if (ready.watch !== null) void this.#pull(ready.groupId, ready.watch);
        return { done: false, value: ready.item };
      }
      if (this.#failure !== null) {
        await this.return();
        throw this.#failure.error;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<StreamItem, undefined>> {
    this.#hasLeft = true;
    this.#wake();
    const watches = [...this.#watches.values()].filter((watch) => watch instanceof Watch);
    for (let from = 0; from < watches.length; from += SLICE_WATCHES) {
      await this.#slices.turn();
      await Promise.all(watches.slice(from, from + SLICE_WATCHES).map((watch) => watch.return()));
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #begin(): Promise<void> {
    this.#hasBegun = true;
    let count = 0;
    for (const [groupId, watch] of this.#watches) {
      if (count++ % SLICE_WATCHES === 0) await this.#slices.turn();
      if (this.#hasLeft) return;
      if (watch instanceof Watch) void this.#pull(groupId, watch);
      else this.#refuse(groupId, watch);
    }
  }

  async #pull(groupId: string, watch: Watch): Promise<void> {
    try {
      const { done, value } = await watch.next();
      if (done !== true) this.#ready.push({ watch, groupId, item: numbered(value) });
    } catch (error) {
      if (isOwnRefusal(error)) this.#refuse(groupId, error);
      else this.#failure ??= { error };
    }
    this.#wake();
  }

  #refuse(groupId: string, refusal: ServiceError): void {
    const item = { event: { group_id: groupId, ...refusal.reply() }, cursor: null };
    this.#ready.push({ watch: null, groupId, item });
    this.#wake();
  }
}

/** A refusal of one group as a value; what concerns all is thrown. */
export function orOwnRefusal(open: () => Watch): Watch | ServiceError {
  try {
    return open();
  } catch (error) {
    if (isOwnRefusal(error)) return error;
    throw error;
  }
}

function isOwnRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && OF_ONE_GROUP.has(error.code);
}

function numbered({ event, cursor }: WatchItem): StreamItem {
  return { event: { ...event, number: cursor }, cursor: null };
}
