import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

/** How a mark of a chart is drawn and pointed at. */
export interface Marks {
  /** The class, and what picks the mark by mouse or touch. */
  readonly of: (index: number) => {
    readonly isPicked: boolean;
    readonly onPointerEnter: () => void;
    readonly onClick: () => void;
  };
}

export interface MarkedChartProps {
  readonly label: string;
  /** What each mark says, oldest first. */
  readonly texts: readonly string[];
  readonly children: (marks: Marks) => ComponentChildren;
}

/** A chart whose marks say what they are: to the mouse, to a finger, and to the arrow keys. */
export function MarkedChart({ label, texts, children }: MarkedChartProps): JSX.Element {
  const [picked, pick] = useState<number | null>(null);
  const move = (event: KeyboardEvent): void => {
    const last = texts.length - 1;
    const to: Readonly<Record<string, number>> = {
      ArrowLeft: picked === null ? last : Math.max(0, picked - 1),
      ArrowRight: picked === null ? 0 : Math.min(last, picked + 1),
      Home: 0,
      End: last,
    };
    const target = to[event.key];
    if (target === undefined) return;
    event.preventDefault();
    pick(target);
  };
  const marks: Marks = {
    of: (index) => ({
      isPicked: index === picked,
      onPointerEnter: () => pick(index),
      onClick: () => pick(index),
    }),
  };
  return (
    <div
      class="marked"
      role="application"
      tabIndex={0}
      aria-label={`${label} Use the left and right arrow keys to read each mark.`}
      onKeyDown={move}
      onBlur={() => pick(null)}
      onPointerLeave={(event) => {
        if (event.pointerType === "mouse") pick(null);
      }}
    >
      {children(marks)}
      <p class="mark-text small" role="status">
        {picked === null ? (
          <span class="muted" aria-hidden="true">
            Point at a mark, tap it, or use ← → to read it.
          </span>
        ) : (
          texts[picked]
        )}
      </p>
    </div>
  );
}
