import type { JSX } from "preact";
import { dayTime } from "../model/format.js";
import type { HistoryEvent } from "../model/wire.js";
import { ending } from "./reasons.js";

/** Newest first, in words. */
export function HistoryList({
  events,
  nowMs,
}: {
  events: readonly HistoryEvent[];
  nowMs: number;
}): JSX.Element {
  if (events.length === 0) return <p class="muted">There are no changes yet.</p>;
  return (
    <ol class="history" tabIndex={0} aria-label="Changes, newest first">
      {events.toReversed().map((event) => (
        <li key={event.number} class={event.type === "LEADER_LOST" ? "lost" : "won"}>
          <time dateTime={new Date(event.ts_ms).toISOString()}>{dayTime(event.ts_ms, nowMs)}</time>
          <span>
            {event.type === "LEADER_CHANGED" ? (
              <>
                <strong>{event.leader_node_id}</strong> won term {event.term}
              </>
            ) : (
              <>
                <strong>{event.previous_leader_node_id ?? "the leader"}</strong> lost term {event.term}:{" "}
                {ending(event.reason, event.by)}
              </>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}
