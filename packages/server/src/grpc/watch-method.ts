/** Watches as streams. */
import type { StreamVerb } from "@tenure/api";
import { batchCost } from "../limits/admission.js";
import type { StreamItem, WatchItem } from "../watch.js";
import { cursorText, parseCursor } from "../wire/watch-cursor.js";
import { WATCH_REQUESTS } from "./message-shapes.js";
import { MANY_BYTES } from "./unary-methods.js";
import { requestParser } from "./request-parser.js";
import type { StreamMethod } from "./stream-method.js";

const parseOne = requestParser(WATCH_REQUESTS.watch);
const parseAll = requestParser(WATCH_REQUESTS.watchAll);
const parseMany = requestParser(WATCH_REQUESTS.watchMany);

export const watchMethods: Readonly<Record<StreamVerb, StreamMethod>> = {
  watch: {
    open: (message, { service, caller, signal, charge }) => {
      const request = parseOne(message);
      const from = parseCursor(request.cursor, "one group");
      return each(service.watch(caller, request.group_id, from, { signal, charge }), watchMessage);
    },
  },
  watchAll: {
    open: (message, { service, caller, signal, charge }) => {
      const from = parseCursor(parseAll(message).cursor, "all groups");
      return each(service.watch(caller, null, from, { signal, charge }), watchMessage);
    },
  },
  watchMany: {
    maxBytes: MANY_BYTES,
    open: (message, { service, caller, charge }) => {
      const request = parseMany(message);
      charge(batchCost(request.watches.length));
      return flat(service.watchMany(caller, request), manyMessage);
    },
  },
};

function watchMessage(item: WatchItem): object {
  return { event: item.event, cursor: cursorText(item) };
}

function manyMessage({ event }: StreamItem): object {
  return "error" in event ? { refusal: event } : { event };
}

/** Not a generator: `return` must end it while it waits for its next item. */
function each<T>(
  items: AsyncIterableIterator<T, undefined>,
  message: (item: T) => object,
): AsyncIterableIterator<object, undefined> {
  return {
    next: async () => {
      const result = await items.next();
      return result.done === true ? result : { done: false, value: message(result.value) };
    },
    return: async () => {
      await items.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The same for several items at once: a gRPC stream sends one message for each. */
function flat<T>(
  lists: AsyncIterableIterator<readonly T[], undefined>,
  message: (item: T) => object,
): AsyncIterableIterator<object, undefined> {
  const ready: T[] = [];
  const items = {
    next: async (): Promise<IteratorResult<T, undefined>> => {
      while (ready.length === 0) {
        const result = await lists.next();
        if (result.done === true) return result;
        ready.push(...result.value.toReversed());
      }
      return { done: false, value: ready.pop() as T };
    },
    return: async (): Promise<IteratorResult<T, undefined>> => {
      await lists.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return each(items, message);
}
