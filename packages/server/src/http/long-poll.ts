import type { shapes } from "@tenure/api";
import type { Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { WatchItem } from "../watch.js";
import { cursorText } from "../wire/watch-cursor.js";

export interface LongPollOptions {
  /** As the client has sent it. */
  readonly from: string | undefined;
  /** `null`: the first event is sure to come, or to be refused, soon. */
  readonly timeoutMs: number | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Limit of one answer. A client gets further events with its next request. */
const MAX_EVENTS = 1000;

/** Waits for the first event, and returns it with all that are ready; none if the time limit passes first. */
export async function longPoll(
  items: AsyncIterableIterator<WatchItem, undefined>,
  { from, timeoutMs, clock, signal }: LongPollOptions,
): Promise<shapes.EventsReply> {
  const events: shapes.EventShape[] = [];
  let cursor = from ?? "0";
  let cancel = (): void => {};
  const over = new Promise<null>((resolve) => {
    if (timeoutMs !== null) cancel = clock.after(timeoutMs, () => resolve(null));
    onAbort(signal, () => resolve(null));
  });
  try {
    let limit: Promise<null> = over;
    while (events.length < MAX_EVENTS) {
      const next = items.next();
      next.catch(() => {});
      const result = await Promise.race([next, limit]);
      if (result === null || result.done === true) break;
      events.push(result.value.event);
      cursor = cursorText(result.value);
      // More states are on their way, however many turns they take.
      limit = result.value.partial ? over : turn();
    }
  } finally {
    cancel();
    void items.return?.();
  }
  return { events, cursor };
}

/** One turn of the event loop: events that are ready have arrived by then. */
export function turn(): Promise<null> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(null));
  });
}
