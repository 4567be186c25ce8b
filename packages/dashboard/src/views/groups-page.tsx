import type { JSX, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { count, grouped } from "../model/format.js";
import { GROUP_STATES, type GroupState } from "../model/group-row.js";
import { filterRows, type RowFilter } from "../model/row-filter.js";
import { GroupList } from "./group-list.js";

export interface GroupsPageProps {
  readonly dashboard: Dashboard;
  readonly filter: RowFilter;
  readonly setFilter: (filter: RowFilter) => void;
  /** How far the list is scrolled. */
  readonly listTop: RefObject<number>;
}

export function GroupsPage({ dashboard, filter, setFilter, listTop }: GroupsPageProps): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const toSearch = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", toSearch);
    return () => removeEventListener("keydown", toSearch);
  }, []);
  const filtered = filterRows(dashboard.board, filter, dashboard.shownMs());
  const isFiltered = filter.text.trim() !== "" || filter.state !== null;
  return (
    <section class="groups" aria-labelledby="groups-title">
      <div class="groups-head">
        <h1 id="groups-title" tabIndex={-1}>
          Groups
        </h1>
        <input
          ref={search}
          type="search"
          class="search"
          placeholder="Search groups and leaders"
          aria-label="Search groups and leaders"
          aria-keyshortcuts="/"
          value={filter.text}
          onInput={(event) => setFilter({ ...filter, text: event.currentTarget.value })}
        />
        <div class="chips" role="group" aria-label="State">
          <Chip
            label="all"
            n={filtered.total}
            isOn={filter.state === null}
            onPick={() => setFilter({ ...filter, state: null })}
          />
          {GROUP_STATES.map((state: GroupState) => (
            <Chip
              key={state}
              label={state}
              n={filtered.counts[state]}
              isOn={filter.state === state}
              onPick={() => setFilter({ ...filter, state: filter.state === state ? null : state })}
            />
          ))}
        </div>
      </div>
      <p class="hidden" role="status">
        {isFiltered ? `${count(filtered.rows.length, "group")} found` : ""}
      </p>
      {filtered.rows.length > 0 ? (
        <GroupList dashboard={dashboard} filtered={filtered} listTop={listTop} />
      ) : (
        <Empty isLoaded={dashboard.isLoaded} isFiltered={isFiltered} />
      )}
    </section>
  );
}

interface ChipProps {
  readonly label: string;
  readonly n: number;
  readonly isOn: boolean;
  readonly onPick: () => void;
}

function Chip({ label, n, isOn, onPick }: ChipProps): JSX.Element {
  return (
    <button type="button" class="chip" aria-pressed={isOn} onClick={onPick}>
      {label} <span class="chip-count">{grouped(n)}</span>
    </button>
  );
}

function Empty({ isLoaded, isFiltered }: { isLoaded: boolean; isFiltered: boolean }): JSX.Element {
  if (!isLoaded) return <p class="empty">Loading groups …</p>;
  if (isFiltered) return <p class="empty">No group matches.</p>;
  return (
    <div class="empty">
      <p>There are no groups yet. The first campaign creates one:</p>
      <pre>
        {`curl -s ${location.origin}/v1/groups/billing/campaign \\\n  -H content-type:application/json \\\n  -d '{"node_id":"a","lease_ttl_ms":30000}'`}
      </pre>
    </div>
  );
}
