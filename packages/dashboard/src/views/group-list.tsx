/** The rows of all groups, of which only those on the screen are drawn. */
import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import type { Filtered } from "../model/row-filter.js";
import { GroupListRow } from "./group-list-row.js";
import { useSeconds } from "./use-dashboard.js";

const narrow = matchMedia("(max-width: 760px)");
const WIDE_ROW_PX = 46;
const NARROW_ROW_PX = 84;
const HEAD_PX = 38;
/** Rows above and below the screen, so that scrolling does not show a gap. */
const SPARE = 6;

interface Extent {
  readonly top: number;
  readonly height: number;
}

export interface GroupListProps {
  readonly dashboard: Dashboard;
  readonly filtered: Filtered;
  /** Where the list was left, and is left again. */
  readonly listTop: RefObject<number>;
}

export function GroupList({ dashboard, filtered, listTop }: GroupListProps): JSX.Element {
  useSeconds();
  const viewport = useRef<HTMLDivElement>(null);
  const [{ top, height }, setExtent] = useState<Extent>({ top: 0, height: 600 });
  const [isNarrow, setNarrow] = useState(narrow.matches);
  /** Where the keyboard is; that row stays drawn, lest the focus is lost. */
  const [focused, setFocused] = useState<number | null>(null);
  const rowPx = isNarrow ? NARROW_ROW_PX : WIDE_ROW_PX;

  useLayoutEffect(() => {
    const element = viewport.current;
    if (element === null) return;
    element.scrollTop = listTop.current;
    const measure = (): void => {
      setNarrow(narrow.matches);
      setExtent({ top: element.scrollTop, height: element.clientHeight });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const { rows, places } = filtered;
  const first = Math.max(0, Math.floor(top / rowPx) - SPARE);
  const last = Math.min(rows.length - 1, Math.ceil((top + height) / rowPx) + SPARE);
  useEffect(() => {
    dashboard.refresher.visible = places.slice(first, last + 1);
    return () => {
      dashboard.refresher.visible = [];
    };
  }, [first, last, places]);

  const drawn = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  if (focused !== null && focused < rows.length && (focused < first || focused > last)) drawn.push(focused);

  const move = (event: KeyboardEvent): void => {
    // The head stands over the first rows.
    const bodyPx = height - (isNarrow ? 0 : HEAD_PX);
    const perPage = Math.max(1, Math.floor(bodyPx / rowPx) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: perPage,
      PageUp: -perPage,
      Home: -rows.length,
      End: rows.length,
    };
    const step = steps[event.key];
    const element = viewport.current;
    if (step === undefined || element === null) return;
    event.preventDefault();
    const target = Math.min(rows.length - 1, Math.max(0, (focused ?? (step > 0 ? -1 : 0)) + step));
    setFocused(target);
    const startPx = target * rowPx;
    if (startPx < element.scrollTop) element.scrollTop = startPx;
    else if (startPx + rowPx > element.scrollTop + bodyPx) element.scrollTop = startPx + rowPx - bodyPx;
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-index="${target}"] a`)?.focus());
  };

  const serverMs = dashboard.shownMs();
  return (
    <div class="table" role="table" aria-label="Groups" aria-rowcount={rows.length + 1}>
      <div
        ref={viewport}
        role="presentation"
        class="viewport"
        onKeyDown={move}
        onScroll={({ currentTarget: { scrollTop, clientHeight } }) => {
          listTop.current = scrollTop;
          setExtent({ top: scrollTop, height: clientHeight });
        }}
      >
        <div role="rowgroup" class="thead">
          <div role="row" aria-rowindex={1} class="row">
            {["Group", "State", "Leader", "Term", "Lease", "Members", "Since"].map((name) => (
              <span role="columnheader" key={name} class={`c-${name.toLowerCase()}`}>
                {name}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="spacer" style={{ height: `${rows.length * rowPx}px` }}>
          {drawn.map((index) => {
            const row = rows[index];
            return row === undefined ? null : (
              <GroupListRow
                key={row.groupId}
                row={row}
                index={index}
                topPx={index * rowPx}
                serverMs={serverMs}
                isLive={dashboard.status.kind === "live"}
                onFocus={setFocused}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}
