import type { JSX } from "preact";
import { dayTime, duration } from "../model/format.js";
import type { Failover } from "../model/timeline.js";
import { ending } from "./reasons.js";
import { useWidth } from "./use-width.js";

const MAX_SHOWN = 32;
const HEIGHT_PX = 120;
const TEXT_PX = 18;

/** From each vacancy to the next leader: one bar per failover, oldest on the left. */
export function FailoverPlot({
  failovers,
  nowMs,
}: {
  failovers: readonly Failover[];
  nowMs: number;
}): JSX.Element {
  const [box, widthPx] = useWidth(360);
  const shown = failovers.slice(-MAX_SHOWN);
  const times = shown.map(({ tookMs }) => tookMs);
  const longest = Math.max(1, ...times);
  const step = Math.min(36, widthPx / Math.max(1, shown.length));
  return (
    <div ref={box}>
      {shown.length === 0 ? (
        <p class="muted">There was no failover yet.</p>
      ) : (
        <>
          <p class="figures">
            <span>
              <b>{duration(percentile(times, 0.5))}</b> median
            </span>
            <span>
              <b>{duration(longest <= 1 ? 0 : longest)}</b> longest
            </span>
            <span>
              <b>{shown.length}</b> shown
            </span>
          </p>
          <svg
            width={widthPx}
            height={HEIGHT_PX}
            role="img"
            aria-label={`Of the last ${shown.length} failovers the median took ${duration(percentile(times, 0.5))}, the longest ${duration(longest)}`}
          >
            <line class="lane" x1={0} x2={widthPx} y1={HEIGHT_PX - TEXT_PX} y2={HEIGHT_PX - TEXT_PX} />
            {shown.map(({ atMs, tookMs, term, nodeId, previousNodeId, reason }, i) => {
              const heightPx = Math.max(2, (tookMs / longest) * (HEIGHT_PX - TEXT_PX - 4));
              return (
                <g key={term} class={`failover ${reason}`} data-took={Math.round(tookMs)}>
                  <title>{`${dayTime(atMs, nowMs)}: ${previousNodeId} ${ending(reason)}, ${nodeId} won term ${term} ${tookMs === 0 ? "in the same write" : `after ${duration(tookMs)}`}`}</title>
                  <rect
                    x={i * step + 2}
                    y={HEIGHT_PX - TEXT_PX - heightPx}
                    width={Math.max(2, step - 4)}
                    height={heightPx}
                    rx={2}
                  />
                  {step > 20 && (
                    <text class="axis" x={i * step + step / 2} y={HEIGHT_PX - 4} text-anchor="middle">
                      {term}
                    </text>
                  )}
                </g>
              );
            })}
          </svg>
          <p class="muted small">
            Time from the loss of a leader to the next leader, by term;{" "}
            <span class="expired-word">after a lease expired</span>.
          </p>
        </>
      )}
    </div>
  );
}

/** The value that this share of all does not pass (nearest rank); 0 of none. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
