import type { ElectionRecord } from "../record.js";

/**
 * The record as of now: every duration less what has passed since it was seen. All rules start from it and every
 * write is made of it, so that no write prolongs a dead leader's lease, and no renewal restarts a ban.
 *
 * Marks that are over are gone. What is left is rounded up, to err towards waiting, but to microseconds only: rounded to
 * milliseconds, writes that follow each other faster would keep a dead leader's lease for ever.
 */
export function carryOver(record: ElectionRecord, ageMs: number): ElectionRecord {
  if (ageMs <= 0 || !hasDurations(record)) return record;
  const { transfer, pause } = record;
  return {
    ...record,
    holdMs: leftOf(record.holdMs, ageMs),
    delayMs: leftOf(record.delayMs, ageMs),
    bans: record.bans
      .map((ban) => ({ ...ban, leftMs: leftOf(ban.leftMs, ageMs) }))
      .filter((ban) => ban.leftMs > 0),
    transfer:
      transfer === null || transfer.leftMs <= ageMs
        ? null
        : { ...transfer, leftMs: leftOf(transfer.leftMs, ageMs) },
    pause:
      pause === null || pause.leftMs === null
        ? pause
        : pause.leftMs <= ageMs
          ? null
          : { ...pause, leftMs: leftOf(pause.leftMs, ageMs) },
  };
}

/** What is left of a duration. */
export function leftOf(durationMs: number, ageMs: number): number {
  return durationMs <= ageMs ? 0 : Math.ceil((durationMs - ageMs) * 1000) / 1000;
}

function hasDurations(record: ElectionRecord): boolean {
  return (
    record.holdMs > 0 ||
    record.delayMs > 0 ||
    record.bans.length > 0 ||
    record.transfer !== null ||
    record.pause !== null
  );
}
