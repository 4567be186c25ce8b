import type { JSX } from "preact";

/** Ids of neighbours often differ at their end only: where there is no room, the middle is left out. */
const TAIL = 9;

export function Clipped({ text, tail = TAIL }: { text: string; tail?: number }): JSX.Element {
  const at = text.length <= 2 * tail ? text.length : text.length - tail;
  return (
    <span class="clipped" title={text}>
      <span class="clipped-head">{text.slice(0, at)}</span>
      {at < text.length && <span>{text.slice(at)}</span>}
    </span>
  );
}

/** The same for a drawing, where nothing measures text. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.min(TAIL, Math.floor((most - 1) / 2));
  return `${text.slice(0, Math.max(1, most - 1 - tail))}…${text.slice(text.length - tail)}`;
}
