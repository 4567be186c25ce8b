import type { WatchEvent } from "@tenure/core";
import { iterate, type Wakeup } from "@tenure/core/internal";
import type { ObservedEvents } from "./observed-events.js";

/** Events after the cursor `from`, until one of the signals aborts. Each iteration is a separate watch. */
export function watchObserved(
  events: ObservedEvents,
  from: number | undefined,
  signals: readonly (AbortSignal | undefined)[],
): AsyncIterable<WatchEvent> {
  return iterate(signals, (wakeup) => read(events, from, wakeup));
}

async function* read(
  events: ObservedEvents,
  from: number | undefined,
  wakeup: Wakeup,
): AsyncGenerator<WatchEvent, undefined> {
  let cursor = from;
  wakeup.listenTo((wake) => events.listen(wake));
  try {
    for (;;) {
      for (const event of events.after(cursor)) {
        cursor = event.cursor;
        yield event;
      }
      await wakeup.wait();
    }
  } finally {
    wakeup.remove();
  }
}
