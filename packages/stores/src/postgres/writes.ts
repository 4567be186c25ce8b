import type { CasOp, CasOutcome, Revision } from "@tenure/core";
import type { SchemaNames } from "./schema.js";
import type { PostgresSession } from "./session.js";

/** Place in the batch, from 1; revision and value of the entry as it is, or `null`. */
type Conflict = readonly [number, Revision | null, string | null];

/** Rejects with what the session says; only `isUndone` tells whether that means that nothing was written. */
export async function sendBatch(
  session: PostgresSession,
  { schema }: SchemaNames,
  batch: readonly CasOp[],
  seen: Revision,
): Promise<CasOutcome[]> {
  const { rows, warning } = await session.query(
    `CALL ${schema}.compare_and_set($1, $2, $3, $4, NULL, NULL)`,
    [
      batch.map(({ key }) => key),
      batch.map(({ expected }) => expected),
      batch.map(({ value }) => value),
      seen,
    ],
  );
  const [written = null, conflicts = null] = rows[0] ?? [];
  const outcomes = batch.map((): CasOutcome => swapped(Number(written), warning));
  if (conflicts === null) return outcomes;
  for (const [place, revision, value] of JSON.parse(conflicts) as Conflict[]) {
    const { key } = batch[place - 1] as CasOp;
    const current = revision === null ? null : { key, value: value ?? "", revision };
    outcomes[place - 1] = { kind: "conflict", current };
  }
  return outcomes;
}

/**
 * A warning comes with a commit that did not wait for its standbys, because somebody cancelled the statement: it is
 * there, and a failover may lose it.
 */
function swapped(revision: Revision, warning: Error | null): CasOutcome {
  return warning === null ? { kind: "swapped", revision } : { kind: "uncertain", cause: warning };
}

/** The highest revision that the outcomes speak of. */
export function highest(outcomes: readonly CasOutcome[]): Revision {
  return outcomes.reduce((most, outcome) => Math.max(most, revisionOf(outcome)), 0);
}

function revisionOf(outcome: CasOutcome): Revision {
  if (outcome.kind === "swapped") return outcome.revision;
  return outcome.kind === "conflict" ? (outcome.current?.revision ?? 0) : 0;
}
