import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clockTime } from "../model/format.js";
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
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  /** What is counted: its axis has whole numbers only. */
  readonly isWhole?: boolean;
}

const MAX_SPAN_MS = 600_000;
const SPANS_MS = [60_000, 120_000, 300_000, MAX_SPAN_MS];
const HEIGHT_PX = 132;
const BOTTOM_PX = 20;
const TOP_PX = 8;

export function LinePlot({ title, note, times, lines, format, isWhole = false }: LinePlotProps): JSX.Element {
  const [box, widthPx] = useWidth(420);
  const [pointed, setPointed] = useState<number | null>(null);
  const endMs = times.at(-1) ?? 0;
  // As wide as there is something to show, in steps, so that the plot does not creep.
  const spanMs = SPANS_MS.find((span) => endMs - (times[0] ?? endMs) <= span) ?? MAX_SPAN_MS;
  const startMs = endMs - spanMs;
  const ticks = valueTicks(
    Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))),
    isWhole,
  );
  const highest = ticks.at(-1) ?? 1;
  const leftPx = Math.max(...ticks.map((tick) => format(tick).length)) * 6.6 + 8;
  const x = (ms: number): number => leftPx + ((ms - startMs) / spanMs) * (widthPx - leftPx - 6);
  const y = (value: number): number =>
    HEIGHT_PX - BOTTOM_PX - (value / highest) * (HEIGHT_PX - BOTTOM_PX - TOP_PX);
  const at = pointed !== null && pointed < times.length ? pointed : times.length - 1;
  const told = lines.map(({ name, values }) => ({ name, value: values[at] ?? null }));
  const point = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    const ms = startMs + ((event.offsetX - leftPx) / (widthPx - leftPx - 6)) * spanMs;
    const distances = times.map((time) => Math.abs(time - ms));
    setPointed(distances.indexOf(Math.min(...distances)));
  };
  return (
    <figure class="card plot">
      <figcaption>
        <h2>{title}</h2>
        <p class="figures">
          {told.map(({ name, value }, i) => (
            <span key={name} class={`line-${i}`}>
              {lines.length > 1 && <span class="swatch" aria-hidden="true" />}
              <b>{value === null ? "–" : format(value)}</b> {name}
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
          aria-label={`${title}: ${lines.map((line) => spoken(line, format)).join("; ")}`}
          onPointerMove={point}
          onPointerLeave={() => setPointed(null)}
        >
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="tick" x1={leftPx} x2={widthPx} y1={y(tick)} y2={y(tick)} />
              <text class="axis" x={leftPx - 6} y={y(tick) + 4} text-anchor="end">
                {format(tick)}
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
                <path d={pathOf(times, values, x, y)} />
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

/** A point alone is drawn as a dot: a line of no length with round ends. */
function pathOf(
  times: readonly number[],
  values: readonly (number | null)[],
  x: (ms: number) => number,
  y: (value: number) => number,
): string {
  let path = "";
  let isDrawing = false;
  values.forEach((value, i) => {
    if (value === null) {
      isDrawing = false;
      return;
    }
    const place = `${x(times[i] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`;
    path += isDrawing ? `L${place}` : `M${place}l0 0`;
    isDrawing = true;
  });
  return path;
}

function spoken({ name, values }: Line, format: (value: number) => string): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name} unknown`;
  return `${name} ${format(known.at(-1) ?? 0)} now, ${format(Math.max(...known))} at most`;
}

/** Three round values from 0 to at least `most`; of what is counted, whole ones. */
function valueTicks(most: number, isWhole = false): readonly number[] {
  if (most <= 0) return [0, 1, 2];
  const power = 10 ** Math.floor(Math.log10(most / 2));
  const step = ([1, 2, 2.5, 5, 10].find((each) => each * power * 2 >= most) ?? 10) * power;
  const rounded = isWhole ? Math.ceil(step) : step;
  return [0, rounded, 2 * rounded];
}
