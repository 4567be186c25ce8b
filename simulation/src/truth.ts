/**
 * What really happened: every write that the shared store accepted, with its true time. Checkers judge by this, never
 * by what a server believes.
 */
import type { LeadershipEvent, OperatorAct } from "@tenure/core";
import type { ElectionRecord } from "@tenure/core/internal";

export interface RecordWrite {
  readonly groupId: string;
  /** By which server. */
  readonly server: string;
  readonly revision: number;
  readonly atMs: number;
  readonly record: ElectionRecord;
  readonly previous: RecordWrite | null;
  /** The events that this write added. */
  readonly events: readonly LeadershipEvent[];
  /** When the next write took its place. */
  untilMs: number;
}

export class GroupTruth {
  readonly groupId: string;
  /** The longest ttl that is asked for. */
  readonly longestTtlMs: number;
  readonly writes: RecordWrite[] = [];
  /** By number. */
  readonly events: Map<number, LeadershipEvent> = new Map();
  history: readonly LeadershipEvent[] = [];
  /** By number. */
  readonly acts: Map<number, OperatorAct> = new Map();
  historyActs: readonly OperatorAct[] = [];
  /** Event numbers at which the group was deleted. A deletion may drop the events before its own number. */
  readonly #deletions: number[] = [];

  constructor(groupId: string, longestTtlMs: number) {
    this.groupId = groupId;
    this.longestTtlMs = longestTtlMs;
  }

  /** The event number of the last deletion at or before event `number`; 0: there was none. */
  deletedAt(number: number): number {
    return this.#deletions.findLast((each) => each <= number) ?? 0;
  }

  get last(): RecordWrite | null {
    return this.writes.at(-1) ?? null;
  }

  get record(): ElectionRecord | null {
    return this.last?.record ?? null;
  }

  add(server: string, revision: number, atMs: number, record: ElectionRecord): RecordWrite {
    const previous = this.last;
    if (previous !== null) previous.untilMs = Math.min(previous.untilMs, atMs);
    const known = previous?.record.events ?? [];
    const events = record.events.filter(
      (event) =>
        !known.some(
          (old) => old.number === event.number && old.type === event.type && old.term === event.term,
        ),
    );
    const write = {
      groupId: this.groupId,
      server,
      revision,
      atMs,
      record,
      previous,
      events,
      untilMs: Number.POSITIVE_INFINITY,
    };
    this.writes.push(write);
    if (record.act !== null && !this.acts.has(record.act.number))
      this.acts.set(record.act.number, record.act);
    if (record.deleted) this.#deletions.push(record.eventNumber);
    return write;
  }

  /** From now on it cannot be read, until it is written again. */
  interrupt(atMs: number): void {
    if (this.last !== null) this.last.untilMs = atMs;
  }

  /** The writes in force at some moment from `fromMs` to `toMs`. */
  *between(fromMs: number, toMs: number): Iterable<RecordWrite | null> {
    let index = this.writes.length - 1;
    while (index >= 0 && (this.writes[index] as RecordWrite).atMs > toMs) index--;
    for (; index >= 0; index--) {
      const write = this.writes[index] as RecordWrite;
      if (write.untilMs < fromMs) return;
      yield write;
    }
    yield null; // Before the first write there was no record.
  }
}

/** A write in one line: who holds which term, what is left of the marks, what has happened. */
export function describe({ record, events }: RecordWrite): string {
  const { holder, transfer } = record;
  const marks = [
    holder === null ? "" : `hold ${record.holdMs}`,
    record.deposed === null ? "" : `deposed by ${record.deposed.by}`,
    ...record.bans.map((ban) => `ban ${ban.nodeId} ${ban.leftMs}`),
    transfer === null
      ? ""
      : `transfer ${transfer.toNodeId} ${transfer.leftMs}${transfer.ready ? " ready" : ""}`,
    record.pause === null ? "" : `pause ${record.pause.leftMs ?? "on"}`,
    record.delayMs === 0 ? "" : `delay ${record.delayMs}`,
    record.deleted ? "deleted" : "",
  ].filter((mark) => mark !== "");
  const happened = events.map(({ type, reason, by }) => {
    return type === "LEADER_CHANGED" ? "elected" : `${reason}${by === undefined ? "" : ` by ${by}`}`;
  });
  const who = holder === null ? "nobody" : `${holder.nodeId}#${holder.instanceId ?? "-"}`;
  return `term ${record.term} ${who} [${marks.join(", ")}] event ${record.eventNumber} ${happened.join(", ")}`.trimEnd();
}
