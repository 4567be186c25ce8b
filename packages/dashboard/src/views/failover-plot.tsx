import type { JSX } from "preact";
import { dayTime, duration } from "../model/format.js";
import { scaleOf } from "../model/scale.js";
import type { Failover } from "../model/timeline.js";
import { MarkedChart } from "./marked-chart.js";
import { ending } from "./reasons.js";
import { useWidth } from "./use-width.js";

const MAX_SHOWN = 32;
const HEIGHT_PX = 140;
const BOTTOM_PX = 18;
const TOP_PX = 8;
const LETTER_PX = 7;

export interface FailoverPlotProps {
  readonly failovers: readonly Failover[];
  readonly nowMs: number;
}

/** From the last sign of each leader to the next leader: one bar per failover, oldest on the left. */
export function FailoverPlot({ failovers, nowMs }: FailoverPlotProps): JSX.Element {
  const [box, widthPx] = useWidth(360);
  const shown = failovers.slice(-MAX_SHOWN);
  if (shown.length === 0) return <p class="muted">There was no failover yet.</p>;
  const times = shown.map(({ tookMs }) => tookMs);
  const longestMs = Math.max(...times);
  const { ticks, highest, label } = scaleOf(longestMs, "ms");
  const leftPx = Math.max(...ticks.map((tick) => label(tick).length)) * LETTER_PX + 10;
  const step = Math.min(36, (widthPx - leftPx) / shown.length);
  const longestTerm = Math.max(...shown.map(({ term }) => String(term).length));
  /** So many bars share one label. */
  const every = Math.ceil((longestTerm * LETTER_PX + 6) / step);
  const y = (ms: number): number => HEIGHT_PX - BOTTOM_PX - (ms / highest) * (HEIGHT_PX - BOTTOM_PX - TOP_PX);
  const median = duration(percentile(times, 0.5));
  return (
    <div>
      <p class="figures">
        <span>
          <b>{median}</b> median
        </span>
        <span>
          <b>{duration(longestMs)}</b> longest
        </span>
        <span>
          <b>{shown.length}</b> {shown.length === 1 ? "failover" : "failovers"}
        </span>
      </p>
      <MarkedChart
        label={`Of the last ${shown.length} failovers the median took ${median}, the longest ${duration(longestMs)}.`}
        texts={shown.map((failover) => describe(failover, nowMs))}
      >
        {(marks) => (
          <div ref={box}>
            <svg width={widthPx} height={HEIGHT_PX} aria-hidden="true">
              <defs>
                <pattern
                  id="hatch-failover"
                  width="6"
                  height="6"
                  patternUnits="userSpaceOnUse"
                  patternTransform="rotate(45)"
                >
                  <rect width="2" height="6" class="hatch-failover" />
                </pattern>
              </defs>
              {ticks.map((tick) => (
                <g key={tick}>
                  <line class="tick" x1={leftPx} x2={widthPx} y1={y(tick)} y2={y(tick)} />
                  <text class="axis" x={leftPx - 6} y={y(tick) + 4} text-anchor="end">
                    {label(tick)}
                  </text>
                </g>
              ))}
              {shown.map(({ tookMs, silentMs, term, reason }, i) => {
                const { isPicked, ...pick } = marks.of(i);
                const left = leftPx + i * step + 2;
                const width = Math.max(2, step - 4);
                return (
                  <g
                    key={term}
                    class={`failover ${reason} ${isPicked ? "picked" : ""}`}
                    data-took={Math.round(tookMs)}
                    {...pick}
                  >
                    <rect x={left} y={y(tookMs)} width={width} height={y(silentMs) - y(tookMs)} />
                    <rect
                      x={left}
                      y={y(silentMs)}
                      width={width}
                      height={y(0) - y(silentMs)}
                      fill="url(#hatch-failover)"
                      class="silent"
                    />
                    <line class="foot" x1={left} x2={left + width} y1={y(0)} y2={y(0)} />
                    {i % every === 0 && (
                      <text class="axis" x={left - 2 + step / 2} y={HEIGHT_PX - 3} text-anchor="middle">
                        {term}
                      </text>
                    )}
                    <rect class="hit" x={left - 2} y={TOP_PX} width={step} height={HEIGHT_PX - TOP_PX} />
                  </g>
                );
              })}
            </svg>
          </div>
        )}
      </MarkedChart>
      <p class="muted small">
        From the last renewal of the old leader to the new leader, by term: for this long the work may have
        stood still{longestMs < 1 ? "" : `, for ${duration(longestMs)} at most`}.{" "}
        <span class="legend-failover" /> the old leader was silent; <span class="legend-vacant" /> no leader.
      </p>
    </div>
  );
}

function describe(
  { atMs, tookMs, silentMs, term, nodeId, previousNodeId, reason }: Failover,
  nowMs: number,
): string {
  const took =
    tookMs < 1
      ? "at once"
      : `after ${duration(tookMs)}${silentMs < 1 ? "" : `, of which ${previousNodeId} was silent for ${duration(silentMs)}`}`;
  return `${dayTime(atMs, nowMs)}: ${previousNodeId} ${ending(reason)}, ${nodeId} won term ${term} ${took}.`;
}

/** The percentile of the values by nearest rank; `share` is from 0 to 1. 0 if there are no values. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
