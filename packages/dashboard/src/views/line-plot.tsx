import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { clockTime } from "../model/format.js";
import { type Quantity, scaleOf, valueText } from "../model/scale.js";
import { useWidth } from "./use-width.js";

export interface Line {
  readonly name: string;
  /** `null`: nothing is known of that moment; the line has a gap there. */
  readonly values: readonly (number | null)[];
}

export interface LinePlotProps {
  readonly title: string;
  /** What exactly is measured. */
  readonly note: string;
  readonly times: readonly number[];
  /** Moments that are further apart than this are not joined. */
  readonly joinedMs: number;
  readonly lines: readonly Line[];
  readonly quantity: Quantity;
}

const MAX_SPAN_MS = 3_600_000;
const SPANS_MS = [60_000, 300_000, 600_000, 1_200_000, 1_800_000, MAX_SPAN_MS];
const HEIGHT_PX = 132;
const BOTTOM_PX = 20;
const TOP_PX = 8;
/** As wide as the wider letters of an axis. */
const LETTER_PX = 7;

export function LinePlot({ title, note, times, joinedMs, lines, quantity }: LinePlotProps): JSX.Element {
  const [box, widthPx] = useWidth(420);
  const [pointed, setPointed] = useState<number | null>(null);
  const drawing = useMemo(
    () => drawingOf(times, joinedMs, lines, quantity, widthPx),
    // The lines are of the same samples as the times.
    [times, joinedMs, quantity, widthPx],
  );
  const { scale, leftPx, startMs, spanMs, x, y } = drawing;
  const at = pointed !== null && pointed < times.length ? pointed : times.length - 1;
  const text = (value: number | null): string => (value === null ? "–" : valueText(value, quantity));
  const point = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    const ms = startMs + ((event.offsetX - leftPx) / (widthPx - leftPx - RIGHT_PX)) * spanMs;
    const distances = times.map((time) => Math.abs(time - ms));
    setPointed(distances.indexOf(Math.min(...distances)));
  };
  return (
    <figure class="card plot">
      <figcaption>
        <h2>{title}</h2>
        <p class="figures">
          {lines.map(({ name, values }, i) => (
            <span key={name} class={`line-${i}`}>
              {lines.length > 1 && <span class="swatch" aria-hidden="true" />}
              <b>{text(values[at] ?? null)}</b> {name}
            </span>
          ))}
          {pointed !== null && times[at] !== undefined && <span class="muted">{clockTime(times[at])}</span>}
        </p>
      </figcaption>
      <div ref={box}>
        <svg
          width={widthPx}
          height={HEIGHT_PX}
          role="img"
          aria-label={`${title}: ${lines.map((line) => spoken(line, text)).join("; ")}`}
          onPointerMove={point}
          onPointerLeave={() => setPointed(null)}
        >
          {scale.ticks.map((tick) => (
            <g key={tick}>
              <line class="tick" x1={leftPx} x2={widthPx} y1={y(tick)} y2={y(tick)} />
              <text class="axis" x={leftPx - 6} y={y(tick) + 4} text-anchor="end">
                {scale.label(tick)}
              </text>
            </g>
          ))}
          <text class="axis" x={leftPx} y={HEIGHT_PX - 4}>
            {spanMs / 60_000} min ago
          </text>
          <text class="axis" x={widthPx - 4} y={HEIGHT_PX - 4} text-anchor="end">
            now
          </text>
          {lines.map(({ name, values }, i) => {
            const last = values.findLastIndex((value) => value !== null);
            return (
              <g key={name} class={`line line-${i}`}>
                <path d={drawing.paths[i]} />
                {last !== -1 && <circle cx={x(times[last] ?? 0)} cy={y(values[last] ?? 0)} r={2.5} />}
              </g>
            );
          })}
          {pointed !== null && times[at] !== undefined && (
            <line
              class="pointed"
              x1={x(times[at])}
              x2={x(times[at])}
              y1={TOP_PX}
              y2={HEIGHT_PX - BOTTOM_PX}
            />
          )}
        </svg>
      </div>
      <p class="muted small">{note}</p>
    </figure>
  );
}

const RIGHT_PX = 6;

function drawingOf(
  times: readonly number[],
  joinedMs: number,
  lines: readonly Line[],
  quantity: Quantity,
  widthPx: number,
) {
  const endMs = times.at(-1) ?? 0;
  // As wide as there is something to show, in steps, so that the plot does not creep.
  const spanMs = SPANS_MS.find((span) => endMs - (times[0] ?? endMs) <= span) ?? MAX_SPAN_MS;
  const startMs = endMs - spanMs;
  const most = lines.reduce(
    (max, { values }) => values.reduce<number>((m, v) => Math.max(m, v ?? 0), max),
    0,
  );
  const scale = scaleOf(most, quantity);
  const leftPx = Math.max(...scale.ticks.map((tick) => scale.label(tick).length)) * LETTER_PX + 10;
  const x = (ms: number): number => leftPx + ((ms - startMs) / spanMs) * (widthPx - leftPx - RIGHT_PX);
  const y = (value: number): number =>
    HEIGHT_PX - BOTTOM_PX - (value / scale.highest) * (HEIGHT_PX - BOTTOM_PX - TOP_PX);
  return {
    scale,
    leftPx,
    startMs,
    spanMs,
    x,
    y,
    paths: lines.map(({ values }) => pathOf(times, joinedMs, values, x, y)),
  };
}

/** A point alone is drawn as a dot: a line of no length with round ends. */
function pathOf(
  times: readonly number[],
  joinedMs: number,
  values: readonly (number | null)[],
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  let path = "";
  let lastMs = Number.NEGATIVE_INFINITY;
  values.forEach((value, i) => {
    const ms = times[i] ?? 0;
    if (value === null) return;
    const place = `${x(ms).toFixed(1)} ${y(value).toFixed(1)}`;
    path += ms - lastMs <= joinedMs ? `L${place}` : `M${place}l0 0`;
    lastMs = ms;
  });
  return path;
}

function spoken({ name, values }: Line, text: (value: number | null) => string): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name} unknown`;
  return `${name} ${text(known.at(-1) ?? null)} now, ${text(Math.max(...known))} at most`;
}
