/** Who led when: a lane for each node, a bar for each term, hatched where the leader was silent or nobody led. */
import type { JSX } from "preact";
import { clockTime, dayTime, duration } from "../model/format.js";
import type { Gap, LedSpan, Span } from "../model/timeline.js";
import { clipped } from "./clipped.js";
import { MarkedChart, type Marks } from "./marked-chart.js";
import { ending, ENDING_MARKS } from "./reasons.js";
import { setQuery } from "./route.js";
import { useWidth } from "./use-width.js";

const RANGES = [
  { key: "5m", name: "5 min", ms: 300_000 },
  { key: "1h", name: "1 h", ms: 3_600_000 },
  { key: "24h", name: "24 h", ms: 86_400_000 },
  { key: "all", name: "All", ms: Number.POSITIVE_INFINITY },
] as const;

const LANE_PX = 34;
const BAR_PX = 22;
const AXIS_PX = 24;
/** As wide as the wider letters of a lane's name. */
const LETTER_PX = 7.6;
const HUES = 8;
/** A term shorter than this is still seen. A shorter gap is not drawn: it would look as long as the thinnest term. */
const THINNEST_PX = 2;

export interface TimelineChartProps {
  readonly spans: readonly Span[];
  readonly nowMs: number;
  /** Which time is shown, as the address says it; `null`: what fits. */
  readonly range: string | null;
  /** The history no longer holds what came before the first span. */
  readonly isCut: boolean;
}

export function TimelineChart({ spans, nowMs, range, isCut }: TimelineChartProps): JSX.Element {
  const [box, widthPx] = useWidth(800);
  const led = spans.filter((span) => span.kind === "led");
  if (led.length === 0) return <p class="muted">This group had no leader yet.</p>;
  const rangeMs = RANGES.find(({ key }) => key === range)?.ms ?? fittingRange(led, nowMs);
  const beginMs = led[0]?.fromMs ?? nowMs;
  const startMs = Math.max(beginMs, nowMs - rangeMs);
  const inRange = spans.filter((span) => span.toMs >= startMs);
  const nodes = [
    ...new Set(inRange.filter((span) => span.kind === "led").map(({ nodeId }) => nodeId)),
  ].sort();
  const labelPx = Math.min(
    widthPx * 0.28,
    Math.max(48, ...nodes.map((node) => node.length * LETTER_PX + 12)),
  );
  const spreadMs = Math.max(1, nowMs - startMs);
  const x = (ms: number): number =>
    labelPx + ((Math.max(ms, startMs) - startMs) / spreadMs) * (widthPx - labelPx - 10);
  const lanesPx = Math.max(1, nodes.length) * LANE_PX;
  const shown = inRange.filter((span) => span.kind === "led" || x(span.toMs) - x(span.fromMs) >= 1);
  const isFromBegin = startMs === beginMs;
  return (
    <div class="timeline">
      <div class="segments" role="group" aria-label="Shown time">
        {RANGES.map(({ key, name, ms }) => (
          <button
            key={key}
            type="button"
            aria-pressed={ms === rangeMs}
            onClick={() => setQuery({ range: key })}
          >
            {name}
          </button>
        ))}
      </div>
      <MarkedChart
        label={`Leadership since ${dayTime(startMs, nowMs)}: ${summary(inRange)}.`}
        texts={shown.map((span) =>
          span.kind === "gap" ? describeGap(span, nowMs) : describeTerm(span, nowMs),
        )}
      >
        {(marks) => (
          <div ref={box}>
            <svg width={widthPx} height={lanesPx + AXIS_PX} aria-hidden="true">
              <defs>
                <Hatch id="hatch" />
                <Hatch id="hatch-silent" />
              </defs>
              {timeTicks(startMs, nowMs, Math.max(2, Math.floor((widthPx - labelPx) / 110))).map((tick) => (
                <g key={tick}>
                  <line class="tick" x1={x(tick)} x2={x(tick)} y1={0} y2={lanesPx} />
                  <text class="axis" x={x(tick)} y={lanesPx + 17} text-anchor="middle">
                    {spreadMs > 86_400_000 ? dayTime(tick, nowMs).replace(/:\d\d$/, "") : clockTime(tick)}
                  </text>
                </g>
              ))}
              {nodes.map((node, lane) => (
                <g key={node}>
                  <line
                    class="lane"
                    x1={labelPx}
                    x2={widthPx}
                    y1={(lane + 1) * LANE_PX}
                    y2={(lane + 1) * LANE_PX}
                  />
                  <text class="lane-name" x={0} y={lane * LANE_PX + LANE_PX / 2 + 4}>
                    <title>{node}</title>
                    {clipped(node, Math.floor((labelPx - 10) / LETTER_PX))}
                  </text>
                </g>
              ))}
              {isFromBegin && isCut && (
                <line class="history-begin" x1={labelPx} x2={labelPx} y1={0} y2={lanesPx} />
              )}
              {shown.map((span, i) =>
                span.kind === "gap" ? (
                  <GapBand
                    key={`gap ${span.fromMs}`}
                    gap={span}
                    x={x}
                    heightPx={lanesPx}
                    mark={marks.of(i)}
                  />
                ) : (
                  <TermBar
                    key={`term ${span.term}`}
                    span={span}
                    x={x}
                    lane={nodes.indexOf(span.nodeId)}
                    mark={marks.of(i)}
                  />
                ),
              )}
            </svg>
          </div>
        )}
      </MarkedChart>
      <p class="legend muted small">
        <span>
          <span class="legend-gap" /> no leader
        </span>
        <span>
          <span class="legend-silent" /> leader silent
        </span>
        {(["expired", "resigned", "deposed", "transferred"] as const).map((reason) => (
          <span key={reason}>
            {ENDING_MARKS[reason]} {ending(reason)}
          </span>
        ))}
      </p>
      {isFromBegin && (
        <p class="muted small">
          {isCut
            ? `The history keeps the last ${HISTORY_EVENTS} changes; it begins at ${dayTime(beginMs, nowMs)}, ${duration(nowMs - beginMs)} ago.`
            : `The first leader was elected at ${dayTime(beginMs, nowMs)}, ${duration(nowMs - beginMs)} ago.`}
        </p>
      )}
    </div>
  );
}

/** As many as a service keeps of a group. */
const HISTORY_EVENTS = 64;

function Hatch({ id }: { id: string }): JSX.Element {
  return (
    <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="2" height="6" class={id} />
    </pattern>
  );
}

interface BarProps {
  readonly x: (ms: number) => number;
  readonly mark: ReturnType<Marks["of"]>;
}

function TermBar({ span, lane, x, mark }: BarProps & { span: LedSpan; lane: number }): JSX.Element {
  const { isPicked, ...pick } = mark;
  const left = x(span.fromMs);
  const width = Math.max(THINNEST_PX, x(span.toMs) - left);
  const top = lane * LANE_PX + (LANE_PX - BAR_PX) / 2;
  const end = span.ended === null ? "" : ` ${ENDING_MARKS[span.ended]}`;
  const silentLeft = Math.max(left, x(span.toMs - (span.silentMs ?? 0)));
  const silentPx = left + width - silentLeft;
  const label = [`term ${span.term}${end}`, `${span.term}${end}`, end.trim()].find(
    (text) => text.length * 7 + 8 < width,
  );
  return (
    <g
      class={`term hue-${lane % HUES} ${isPicked ? "picked" : ""}`}
      data-term={span.term}
      data-ended={span.ended ?? "no"}
      {...pick}
    >
      <rect x={left} y={top} width={width} height={BAR_PX} rx={Math.min(4, width / 2)} />
      {span.silentMs !== undefined && silentPx >= 1 && (
        <rect
          class="silent"
          data-silent={span.silentMs}
          x={silentLeft}
          y={top}
          width={silentPx}
          height={BAR_PX}
          fill="url(#hatch-silent)"
        />
      )}
      {label !== undefined && label !== "" && (
        <text x={left + 6} y={top + BAR_PX / 2 + 4}>
          {label}
        </text>
      )}
    </g>
  );
}

function GapBand({ gap, x, heightPx, mark }: BarProps & { gap: Gap; heightPx: number }): JSX.Element {
  const { isPicked, ...pick } = mark;
  const left = x(gap.fromMs);
  const width = Math.max(THINNEST_PX, x(gap.toMs) - left);
  const text = duration(gap.toMs - gap.fromMs);
  return (
    <g class={`gap ${isPicked ? "picked" : ""}`} data-gap={Math.round(gap.toMs - gap.fromMs)} {...pick}>
      <rect x={left} y={0} width={width} height={heightPx} fill="url(#hatch)" />
      <rect x={left} y={0} width={width} height={heightPx} class="gap-field" />
      {width > text.length * 7 + 8 && (
        <text x={left + width / 2} y={heightPx / 2 + 4} text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
}

function describeGap({ fromMs, toMs, isOpen, reason }: Gap, nowMs: number): string {
  return `No leader for ${duration(toMs - fromMs)}${isOpen ? " so far" : ""}, since ${dayTime(fromMs, nowMs)}: ${ending(reason)}.`;
}

function describeTerm(span: LedSpan, nowMs: number): string {
  const when = `${span.isCut ? "before" : "from"} ${dayTime(span.fromMs, nowMs)}`;
  const how = span.ended === null ? "still leading" : ending(span.ended, span.by);
  const silent =
    span.silentMs === undefined || span.silentMs < 1
      ? ""
      : `; silent for the last ${duration(span.silentMs)}`;
  return `${span.nodeId}, term ${span.term}, ${when} for ${duration(span.toMs - span.fromMs)}: ${how}${silent}.`;
}

/** The shortest range that holds the last few changes. */
function fittingRange(led: readonly LedSpan[], nowMs: number): number {
  const fromMs = (led.at(-4) ?? led[0])?.fromMs ?? nowMs;
  return RANGES.find(({ ms }) => ms >= nowMs - fromMs)?.ms ?? Number.POSITIVE_INFINITY;
}

function summary(spans: readonly Span[]): string {
  const terms = spans.filter((span) => span.kind === "led");
  const gaps = spans.filter((span) => span.kind === "gap");
  const vacantMs = gaps.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  return `${terms.length} terms, ${gaps.length} gaps without a leader, ${duration(vacantMs)} in all`;
}

const STEPS_MS = [
  1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
  7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 2_592_000_000,
];

/** Round moments between two times, at most `most` of them, neither at the very edge. */
function timeTicks(fromMs: number, toMs: number, most: number): readonly number[] {
  const spreadMs = toMs - fromMs;
  const stepMs = STEPS_MS.find((step) => spreadMs / step <= most) ?? spreadMs;
  const ticks: number[] = [];
  const edgeMs = spreadMs * 0.03;
  for (let tick = Math.ceil(fromMs / stepMs) * stepMs; tick <= toMs - edgeMs; tick += stepMs) {
    if (tick >= fromMs + edgeMs) ticks.push(tick);
  }
  return ticks;
}
