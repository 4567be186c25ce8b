import type { JSX } from "preact";

/** Ids of neighbours often differ at their end only: where there is no room, the middle is left out. */
const TAIL = 9;

/** A host name: its first label tells hosts apart, and the domain after it is the same for all of them. */
const HOST = /^([^./]+)(\.[a-z][\w.-]*)$/i;

export function Clipped({ text, tail = TAIL }: { text: string; tail?: number }): JSX.Element {
  const [, label = text, domain = ""] = HOST.exec(text) ?? [];
  const at = label.length <= 2 * tail ? label.length : label.length - tail;
  return (
    <span class="clipped" title={text}>
      <span class="clipped-head">{label.slice(0, at)}</span>
      {at < label.length && <span>{label.slice(at)}</span>}
      {domain !== "" && <span class="clipped-domain">{domain}</span>}
    </span>
  );
}

/** The same for a drawing, where nothing measures text. */
export function clipped(text: string, most: number): string {
  if (text.length <= most) return text;
  const [, label = text] = HOST.exec(text) ?? [];
  if (label.length < most) return `${label}…`;
  const tail = Math.min(TAIL, Math.floor((most - 1) / 2));
  return `${label.slice(0, Math.max(1, most - 1 - tail))}…${label.slice(label.length - tail)}`;
}
