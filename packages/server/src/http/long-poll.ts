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

/**
 * The first events to come, with all that are there already; none if the time is over sooner. What ends the wait ends the watch:
 * a race of promises for each event would cost more than the event.
 */
export async function longPoll(
  items: AsyncIterableIterator<WatchItem, undefined>,
  { from, timeoutMs, clock, signal }: LongPollOptions,
): Promise<shapes.EventsReply> {
  const events: shapes.EventShape[] = [];
  let cursor = from ?? "0";
  const end = (): void => void items.return?.();
  const cancelTimer = timeoutMs === null ? () => {} : clock.after(timeoutMs, end);
  const stopListening = onAbort(signal, end);
  let isLast: NodeJS.Immediate | undefined;
  try {
    while (events.length < MAX_EVENTS) {
      const result = await items.next();
      if (result.done === true) break;
      events.push(result.value.event);
      cursor = cursorText(result.value);
      clearImmediate(isLast);
      // After a partial state more states follow, however many turns they take. Otherwise what does not come within a turn is not there yet.
      if (!result.value.partial) isLast = setImmediate(end);
    }
  } finally {
    clearImmediate(isLast);
    cancelTimer();
    stopListening();
    end();
  }
  return { events, cursor };
}

/** One turn of the event loop: events that are ready have arrived by then. */
export function turn(): Promise<null> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(null));
  });
}
