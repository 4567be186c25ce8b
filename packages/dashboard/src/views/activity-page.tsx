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
          <ActList acts={eachOnce([...value.acts, ...older.acts])} nowMs={dashboard.shownMs()} />
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
        <li key={keyOf(act)}>
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
  /** Empty until the reader asks for more. */
  readonly acts: readonly GroupAct[];
  /** `null`: there are none. */
  readonly more: (() => void) | null;
}

/**
 * The pages that the reader has asked for: the first as it was then, because the present first page moves on with each new act,
 * and those after it.
 */
function useOlder(dashboard: Dashboard, filter: string, first: AuditPage | null): Older {
  const [read, setRead] = useState<(AuditPage & { filter: string }) | null>(null);
  const known = read?.filter === filter ? read : null;
  const { acts, cursor } = known ?? first ?? { acts: [], cursor: null };
  const more = async (): Promise<void> => {
    const next = await dashboard.api.get<AuditPage>(
      `/v1/audit?${filter}&cursor=${encodeURIComponent(cursor ?? "")}`,
    );
    setRead({ filter, acts: [...acts, ...next.acts], cursor: next.cursor });
  };
  return {
    acts: known?.acts ?? [],
    more: cursor === null ? null : () => void more().catch(() => {}),
  };
}

function eachOnce(acts: readonly GroupAct[]): readonly GroupAct[] {
  return [...new Map(acts.map((act) => [keyOf(act), act])).values()];
}

function keyOf({ group_id, number }: GroupAct): string {
  return `${group_id} ${number}`;
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
