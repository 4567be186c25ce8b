import type { JSX } from "preact";
import { dayTime, duration } from "../model/format.js";
import type { HistoryEvent, OperatorAct } from "../model/wire.js";
import { ActWords } from "./act-text.js";
import { ending } from "./reasons.js";

export interface HistoryListProps {
  readonly events: readonly HistoryEvent[];
  readonly acts: readonly OperatorAct[];
  readonly nowMs: number;
}

/** What happened and what operators did, newest first, in words. */
export function HistoryList({ events, acts, nowMs }: HistoryListProps): JSX.Element {
  const entries = [
    ...acts.map((act) => ({
      key: `act ${act.number}`,
      kind: "act",
      tsMs: act.ts_ms,
      text: <ActWords act={act} />,
    })),
    ...events.map((event) => ({
      key: `event ${event.number}`,
      kind: event.type === "LEADER_LOST" ? "lost" : "won",
      tsMs: event.ts_ms,
      text: <EventWords event={event} />,
    })),
  ].sort((a, b) => a.tsMs - b.tsMs);
  if (entries.length === 0) return <p class="muted">There are no changes yet.</p>;
  return (
    <ol class="history" tabIndex={0} aria-label="Changes, newest first">
      {entries.toReversed().map(({ key, kind, tsMs, text }) => (
        <li key={key} class={kind}>
          <time dateTime={new Date(tsMs).toISOString()}>{dayTime(tsMs, nowMs)}</time>
          <span>{text}</span>
        </li>
      ))}
    </ol>
  );
}

function EventWords({ event }: { event: HistoryEvent }): JSX.Element {
  return event.type === "LEADER_CHANGED" ? (
    <>
      <strong>{event.leader_node_id}</strong> won term {event.term}
    </>
  ) : (
    <>
      <strong>{event.previous_leader_node_id ?? "the leader"}</strong> lost term {event.term}:{" "}
      {ending(event.reason, event.by)}
      {event.silent_ms === undefined ? "" : `, ${duration(event.silent_ms)} after the last renewal`}
    </>
  );
}
