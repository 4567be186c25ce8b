import type { JSX, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { count, grouped } from "../model/format.js";
import { GROUP_STATES } from "../model/group-row.js";
import { filterRows } from "../model/row-filter.js";
import { AttentionStrip } from "./attention-strip.js";
import { CreateDialog } from "./create-dialog.js";
import { GroupList } from "./group-list.js";
import { isTyping } from "./keyboard-help.js";
import { filterOf, sortText } from "./list-query.js";
import { groupHref, setQuery } from "./route.js";
import { StartHere } from "./start-here.js";

export interface GroupsPageProps {
  readonly dashboard: Dashboard;
  /** What is picked, as the address says it. */
  readonly query: URLSearchParams;
  /** How far the list is scrolled. */
  readonly listTop: RefObject<number>;
}

export function GroupsPage({ dashboard, query, listTop }: GroupsPageProps): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  const [isCreating, setCreating] = useState(false);
  useEffect(() => {
    const toSearch = (event: KeyboardEvent): void => {
      if (event.key !== "/" || isTyping(event)) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", toSearch);
    return () => removeEventListener("keydown", toSearch);
  }, []);
  const filter = filterOf(query);
  const filtered = filterRows(dashboard.board, filter, dashboard.shownMs());
  const isFiltered = filter.text.trim() !== "" || filter.state !== null;
  const isAdmin = dashboard.reader?.role === "admin";
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
          placeholder="Search groups and leaders  ( / )"
          aria-label="Search groups and leaders"
          aria-keyshortcuts="/"
          value={filter.text}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
        <div class="chips" role="group" aria-label="State">
          <Chip
            label="all"
            n={filtered.total}
            isOn={filter.state === null}
            onPick={() => setQuery({ state: "" })}
          />
          {GROUP_STATES.filter(
            (state) => filtered.counts[state] > 0 || filter.state === state || ALWAYS.has(state),
          ).map((state) => (
            <Chip
              key={state}
              label={state}
              n={filtered.counts[state]}
              isOn={filter.state === state}
              onPick={() => setQuery({ state: filter.state === state ? "" : state })}
            />
          ))}
        </div>
        {isAdmin && (
          <button
            type="button"
            class="create"
            disabled={dashboard.status.kind !== "live"}
            onClick={() => setCreating(true)}
          >
            Create group …
          </button>
        )}
      </div>
      <p class="hidden" role="status">
        {isFiltered ? `${count(filtered.rows.length, "group")} found` : ""}
      </p>
      <AttentionStrip attention={dashboard.attention} />
      {filtered.rows.length > 0 ? (
        <GroupList
          dashboard={dashboard}
          filtered={filtered}
          sort={filter.sort}
          onSort={(sort) => setQuery({ sort: sortText(sort) })}
          listTop={listTop}
        />
      ) : !dashboard.isLoaded ? (
        <p class="empty">Loading groups …</p>
      ) : isFiltered ? (
        <p class="empty">No group matches.</p>
      ) : (
        <StartHere target={dashboard.target()} docsUrl={dashboard.docsUrl()} />
      )}
      {isCreating && (
        <CreateDialog
          groupId=""
          target={dashboard.target()}
          send={(act) => dashboard.api.send(act)}
          onCreated={(groupId) => location.assign(groupHref(groupId))}
          onClose={() => setCreating(false)}
        />
      )}
    </section>
  );
}

const ALWAYS: ReadonlySet<string> = new Set(["vacant", "led"]);

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
