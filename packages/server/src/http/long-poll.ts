import type { Clock } from "@tenure/core";
import type { EventShape, EventsReply } from "../wire/shapes.js";

export interface WatchItem {
  readonly event: EventShape;
  readonly cursor: number;
}

/** Past this a client asks again. */
const MOST_EVENTS = 1000;

/** The first events to come, with all that are there already; none if the time is over sooner. */
export async function longPoll(
  items: AsyncGenerator<WatchItem, undefined>,
  from: number | undefined,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<EventsReply> {
  const events: EventShape[] = [];
  let cursor = from ?? 0;
  let cancel = (): void => {};
  const over = new Promise<null>((resolve) => {
    cancel = clock.after(timeoutMs, () => resolve(null));
    signal.addEventListener("abort", () => resolve(null), { once: true });
  });
  try {
    for (let limit: Promise<null> = over; events.length < MOST_EVENTS; limit = soon()) {
      const next = items.next();
      next.catch(() => {});
      const result = await Promise.race([next, limit]);
      if (result === null || result.done === true) break;
      events.push(result.value.event);
      cursor = result.value.cursor;
    }
  } finally {
    cancel();
    items.return(undefined).catch(() => {});
  }
  return { events, cursor: String(cursor) };
}

/** A turn later: what is there already has come by then. */
function soon(): Promise<null> {
  return new Promise((resolve) => setImmediate(() => resolve(null)));
}
