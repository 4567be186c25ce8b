/** The rows of all groups, of which only those on the screen are drawn. */
import type { JSX, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import type { Filtered, Sort, SortKey } from "../model/row-filter.js";
import { GroupListRow } from "./group-list-row.js";
import { isTyping } from "./keyboard-help.js";
import { SORT_KEYS } from "./list-query.js";
import { useSeconds } from "./use-dashboard.js";

const narrow = matchMedia("(max-width: 760px)");
const WIDE_ROW_PX = 46;
const NARROW_ROW_PX = 84;
const HEAD_PX = 38;
/** Rows above and below the screen, so that scrolling does not show a gap. */
const SPARE = 6;
/** Of the card around the rows. */
const BORDER_PX = 2;

interface Extent {
  readonly top: number;
  readonly height: number;
}

export interface GroupListProps {
  readonly dashboard: Dashboard;
  readonly filtered: Filtered;
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
  /** Where the list was left, and is left again. */
  readonly listTop: RefObject<number>;
}

export function GroupList({ dashboard, filtered, sort, onSort, listTop }: GroupListProps): JSX.Element {
  useSeconds();
  const room = useRef<HTMLDivElement>(null);
  const viewport = useRef<HTMLDivElement>(null);
  /** `height`: of what the screen leaves for the list. */
  const [{ top, height }, setExtent] = useState<Extent>({ top: 0, height: 600 });
  const [isNarrow, setNarrow] = useState(narrow.matches);
  /**
   * The group that has the keyboard focus. An index would point to another group as soon as the order changes, and the
   * default order changes with every state. The row of this group stays drawn, so that scrolling does not drop the focus.
   */
  const [focusedId, setFocusedId] = useState<string | null>(null);
  const rowPx = isNarrow ? NARROW_ROW_PX : WIDE_ROW_PX;

  const headPx = isNarrow ? 0 : HEAD_PX;
  const { rows } = filtered;
  const focused = focusedId === null ? -1 : rows.findIndex(({ groupId }) => groupId === focusedId);

  useLayoutEffect(() => {
    const [outer, inner] = [room.current, viewport.current];
    if (outer === null || inner === null) return;
    const measure = (): void => {
      setNarrow(narrow.matches);
      setExtent({ top: inner.scrollTop, height: outer.clientHeight });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(outer);
    measure();
    return () => observer.disconnect();
  }, []);

  // Whole rows only, so that the last one is never cut.
  const fitting = Math.max(3, Math.floor((height - headPx - BORDER_PX) / rowPx));
  const bodyPx = Math.min(rows.length, fitting) * rowPx;
  useLayoutEffect(() => {
    if (viewport.current !== null) viewport.current.scrollTop = listTop.current;
  }, []);

  const first = Math.max(0, Math.floor(top / rowPx) - SPARE);
  const last = Math.min(rows.length - 1, Math.ceil((top + bodyPx) / rowPx) + SPARE);
  useEffect(() => {
    dashboard.refresher.visible = rows.slice(first, last + 1).map(({ groupId }) => groupId);
    return () => {
      dashboard.refresher.visible = [];
    };
  }, [first, last, rows]);

  const drawn = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  if (focused !== -1 && (focused < first || focused > last)) drawn.push(focused);

  const move = (event: KeyboardEvent): void => {
    const perPage = Math.max(1, fitting - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: perPage,
      PageUp: -perPage,
      Home: -rows.length,
      End: rows.length,
    };
    const step = steps[event.key];
    const element = viewport.current;
    if (step === undefined || element === null) return;
    event.preventDefault();
    const target = Math.min(rows.length - 1, Math.max(0, (focused === -1 && step < 0 ? 0 : focused) + step));
    const targetId = rows[target]?.groupId;
    if (targetId === undefined) return;
    setFocusedId(targetId);
    const startPx = target * rowPx;
    if (startPx < element.scrollTop) element.scrollTop = startPx;
    else if (startPx + rowPx > element.scrollTop + bodyPx) element.scrollTop = startPx + rowPx - bodyPx;
    requestAnimationFrame(() => linkOf(element, targetId)?.focus());
  };
  const moved = useRef(move);
  moved.current = move;
  useEffect(() => {
    // From anywhere on the page; the other keys move the page, unless the list has the focus.
    const onKey = (event: KeyboardEvent): void => {
      if ((event.key === "j" || event.key === "k") && !isTyping(event)) moved.current(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  const serverMs = dashboard.shownMs();
  return (
    <div ref={room} class="room">
      <div class="table" role="table" aria-label="Groups" aria-rowcount={rows.length + 1}>
        <div
          ref={viewport}
          role="presentation"
          class="viewport"
          style={{ height: `${bodyPx + headPx}px` }}
          onKeyDown={(event) => {
            if (event.key.length > 1) move(event);
          }}
          onScroll={({ currentTarget: { scrollTop } }) => {
            listTop.current = scrollTop;
            setExtent({ top: scrollTop, height });
          }}
        >
          <div role="rowgroup" class="thead">
            <div role="row" aria-rowindex={1} class="row">
              {SORT_KEYS.map((key) => (
                <SortHead key={key} name={key} sort={sort} onSort={onSort} />
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
                  onFocus={setFocusedId}
                />
              );
            })}
          </div>
        </div>
      </div>
    </div>
  );
}

function linkOf(list: HTMLElement, groupId: string): HTMLElement | null {
  return list.querySelector<HTMLElement>(`a[aria-label="${CSS.escape(groupId)}"]`);
}

interface SortHeadProps {
  readonly name: SortKey;
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
}

/** Sorts by its column; a second time the other way round. */
function SortHead({ name, sort, onSort }: SortHeadProps): JSX.Element {
  const isPicked = sort.by === name;
  return (
    <span
      role="columnheader"
      class={`c-${name}`}
      aria-sort={isPicked ? (sort.isReversed ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        title={HEADS[name].title}
        onClick={() => onSort({ by: name, isReversed: isPicked && !sort.isReversed })}
      >
        {HEADS[name].text}
        <span class="sort-mark" aria-hidden="true">
          {isPicked ? (sort.isReversed ? "▲" : "▼") : ""}
        </span>
      </button>
    </span>
  );
}

const HEADS: Readonly<Record<SortKey, { readonly text: string; readonly title: string }>> = {
  group: { text: "Group", title: "Sort by group id" },
  state: { text: "State", title: "Sort by state, trouble first" },
  leader: { text: "Leader", title: "Sort by leader" },
  term: { text: "Term", title: "Sort by term, highest first" },
  lease: { text: "Lease", title: "Sort by the end of the lease" },
  members: { text: "Members", title: "Sort by members, fewest first" },
  since: { text: "Since", title: "Sort by the last change, newest first" },
};
