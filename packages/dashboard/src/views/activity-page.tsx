import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { dayTime } from "../model/format.js";
import type { AuditPage, GroupAct } from "../model/wire.js";
import { ActWords } from "./act-text.js";
import { groupHref, setQuery } from "./route.js";
import { sentence } from "./sign-in.js";
import { usePolled } from "./use-polled.js";

const POLL_MS = 3000;
const PAGE = 50;

/** What operators did, newest first, by group and by operator. */
export function ActivityPage({
  dashboard,
  query,
}: {
  dashboard: Dashboard;
  query: URLSearchParams;
}): JSX.Element {
  const groupId = query.get("group") ?? "";
  const by = query.get("by") ?? "";
  const filter = new URLSearchParams({
    limit: String(PAGE),
    ...(groupId.trim() === "" ? {} : { group_id: groupId.trim() }),
    ...(by.trim() === "" ? {} : { by: by.trim() }),
  }).toString();
  const { value, refusal } = usePolled<AuditPage>(dashboard, `/v1/audit?${filter}`, POLL_MS);
  const older = useOlder(dashboard, filter, value);
  return (
    <section class="activity" aria-labelledby="activity-title">
      <div class="groups-head">
        <h1 id="activity-title" tabIndex={-1}>
          Activity
        </h1>
        <Filter label="Group" value={groupId} onChange={(text) => setQuery({ group: text })} />
        <Filter label="Operator" value={by} onChange={(text) => setQuery({ by: text })} />
      </div>
      {value === null ? (
        <p class="empty">{refusal === null ? "Loading …" : `Not available: ${sentence(refusal)}`}</p>
      ) : value.acts.length === 0 ? (
        <p class="empty">{groupId === "" && by === "" ? "No operator has acted yet." : "No act matches."}</p>
      ) : (
        <>
          <ActList acts={[...value.acts, ...older.acts]} nowMs={dashboard.shownMs()} />
          {older.more !== null && (
            <button type="button" onClick={older.more}>
              Show older
            </button>
          )}
        </>
      )}
    </section>
  );
}

export function ActList({ acts, nowMs }: { acts: readonly GroupAct[]; nowMs: number }): JSX.Element {
  return (
    <ol class="acts-list card">
      {acts.map((act) => (
        <li key={`${act.group_id} ${act.number}`}>
          <time dateTime={new Date(act.ts_ms).toISOString()}>{dayTime(act.ts_ms, nowMs)}</time>
          <a href={groupHref(act.group_id)} title={act.group_id}>
            {act.group_id}
          </a>
          <span>
            <ActWords act={act} />
          </span>
        </li>
      ))}
    </ol>
  );
}

interface Older {
  readonly acts: readonly GroupAct[];
  /** `null`: there are none. */
  readonly more: (() => void) | null;
}

/** The pages after the first, as far as the reader has asked for them. They begin where the first page ended then. */
function useOlder(dashboard: Dashboard, filter: string, first: AuditPage | null): Older {
  const [pages, setPages] = useState<{ filter: string; from: number; page: AuditPage } | null>(null);
  const known = pages?.filter === filter ? pages : null;
  const cursor = known === null ? (first?.cursor ?? null) : known.page.cursor;
  const more = async (): Promise<void> => {
    const next = await dashboard.api.get<AuditPage>(
      `/v1/audit?${filter}&cursor=${encodeURIComponent(cursor ?? "")}`,
    );
    const from = known?.from ?? first?.acts.at(-1)?.ts_ms ?? 0;
    setPages({ filter, from, page: { ...next, acts: [...(known?.page.acts ?? []), ...next.acts] } });
  };
  // A first page that has moved on since shows some of them again.
  const lastMs = first?.acts.at(-1)?.ts_ms ?? 0;
  return {
    acts: known?.page.acts.filter(({ ts_ms }) => ts_ms < lastMs) ?? [],
    more: cursor === null ? null : () => void more().catch(() => {}),
  };
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function Filter({ label, value, onChange }: FilterProps): JSX.Element {
  return (
    <input
      type="search"
      class="search"
      placeholder={`${label}, in full`}
      aria-label={label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
