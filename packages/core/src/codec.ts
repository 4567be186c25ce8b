/**
 * How records and histories are stored: JSON with short keys, in which empty fields are left out, so that a renewed
 * record is a few hundred bytes. `v` is the format's version: it distinguishes a newer format from a damaged value.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import {
  EMPTY_RECORD,
  type ElectionRecord,
  type EndedTerm,
  type GroupConfig,
  type Holder,
  type TransferMark,
} from "./record.js";

const FORMAT = 1;

type EventTuple = readonly [
  term: number,
  leader: string | 0,
  previous: string | 0,
  reason: EndReason | "none",
  tsMs: number,
  by?: string,
];

interface EncodedRecord {
  readonly v: number;
  readonly term: number;
  readonly hold?: number;
  readonly node?: string;
  readonly inst?: string;
  readonly ttl?: number;
  readonly prio?: number;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly deposed?: string;
  readonly bans?: readonly (readonly [nodeId: string, leftMs: number])[];
  /** A version that does not know `allowCold` ignores it, and drops it when it writes: then the successor must be ready. */
  readonly transfer?: readonly [
    toNodeId: string,
    leftMs: number,
    ready: 0 | 1,
    by: string | 0,
    allowCold?: 1,
  ];
  /** 0: until resumed. */
  readonly pause?: number;
  readonly delay?: number;
  readonly ended?: readonly [term: number, nodeId: string, reason: EndReason, instanceId?: string];
  readonly no?: number;
  readonly ev?: readonly EventTuple[];
  readonly config?: GroupConfig;
  readonly fnd?: string;
  readonly deleted?: 1;
}

export function encodeRecord(record: ElectionRecord): string {
  const { holder, transfer, pause, ended } = record;
  // JSON leaves out what is undefined.
  const encoded: { [K in keyof EncodedRecord]: EncodedRecord[K] | undefined } = {
    v: FORMAT,
    term: record.term,
    hold: record.holdMs || undefined,
    node: holder?.nodeId,
    inst: holder?.instanceId ?? undefined,
    ttl: holder?.ttlMs,
    prio: holder?.priority || undefined,
    meta: holder?.metadata ?? undefined,
    deposed: record.deposed?.by,
    bans: record.bans.length === 0 ? undefined : record.bans.map((ban) => [ban.nodeId, ban.leftMs]),
    transfer: transfer === null ? undefined : encodeTransfer(transfer),
    pause: pause === null ? undefined : (pause.leftMs ?? 0),
    delay: record.delayMs || undefined,
    ended:
      ended === null
        ? undefined
        : ended.instanceId === null
          ? [ended.term, ended.nodeId, ended.reason]
          : [ended.term, ended.nodeId, ended.reason, ended.instanceId],
    no: record.eventNumber || undefined,
    ev: record.events.length === 0 ? undefined : record.events.map(encodeEvent),
    config: record.config ?? undefined,
    fnd: record.founder ?? undefined,
    deleted: record.deleted ? 1 : undefined,
  };
  return JSON.stringify(encoded);
}

export function decodeRecord(value: string): ElectionRecord {
  const encoded = parse<EncodedRecord>(value);
  const { transfer, pause } = encoded;
  const eventNumber = encoded.no ?? 0;
  return {
    ...EMPTY_RECORD,
    term: encoded.term,
    holder: decodeHolder(encoded),
    holdMs: encoded.hold ?? 0,
    deposed: encoded.deposed === undefined ? null : { by: encoded.deposed },
    bans: encoded.bans?.map(([nodeId, leftMs]) => ({ nodeId, leftMs })) ?? EMPTY_RECORD.bans,
    transfer: transfer === undefined ? null : decodeTransfer(transfer),
    pause: pause === undefined ? null : { leftMs: pause || null },
    delayMs: encoded.delay ?? 0,
    ended: decodeEnded(encoded),
    eventNumber,
    events: encoded.ev === undefined ? EMPTY_RECORD.events : decodeEvents(encoded.ev, eventNumber),
    config: encoded.config ?? null,
    founder: encoded.fnd ?? null,
    deleted: encoded.deleted === 1,
  };
}

export function encodeHistory(events: readonly LeadershipEvent[]): string {
  return JSON.stringify({ v: FORMAT, nos: events.map((event) => event.number), ev: events.map(encodeEvent) });
}

export function decodeHistory(value: string): readonly LeadershipEvent[] {
  const encoded = parse<{ v: number; nos: readonly number[]; ev: readonly EventTuple[] }>(value);
  return encoded.ev.map((tuple, index) => decodeEvent(tuple, encoded.nos[index] ?? 0));
}

function parse<T extends { v: number }>(value: string): T {
  const encoded = JSON.parse(value) as T;
  if (encoded.v !== FORMAT) {
    throw new Error(
      `a record of format ${String(encoded.v)} was met, this version reads ${FORMAT}; upgrade it`,
    );
  }
  return encoded;
}

function decodeHolder(encoded: EncodedRecord): Holder | null {
  if (encoded.node === undefined) return null;
  return {
    nodeId: encoded.node,
    instanceId: encoded.inst ?? null,
    ttlMs: encoded.ttl ?? 0,
    priority: encoded.prio ?? 0,
    metadata: encoded.meta ?? null,
  };
}

function encodeTransfer(mark: TransferMark): NonNullable<EncodedRecord["transfer"]> {
  const tuple = [mark.toNodeId, mark.leftMs, mark.ready ? 1 : 0, mark.by ?? 0] as const;
  return mark.allowCold === true ? [...tuple, 1] : tuple;
}

function decodeTransfer([toNodeId, leftMs, ready, by, allowCold]: NonNullable<
  EncodedRecord["transfer"]
>): TransferMark {
  const mark = { toNodeId, leftMs, ready: ready === 1, by: by || null };
  return allowCold === 1 ? { ...mark, allowCold: true } : mark;
}

function decodeEnded({ ended }: EncodedRecord): EndedTerm | null {
  if (ended === undefined) return null;
  return { term: ended[0], nodeId: ended[1], reason: ended[2], instanceId: ended[3] ?? null };
}

function encodeEvent(event: LeadershipEvent): EventTuple {
  const { term, leaderNodeId, previousLeaderNodeId, reason, tsMs, by } = event;
  const tuple = [term, leaderNodeId ?? 0, previousLeaderNodeId ?? 0, reason, tsMs] as const;
  return by === undefined ? tuple : [...tuple, by];
}

/** Events of a record have no gaps, so the number of the last gives those of all. */
function decodeEvents(tuples: readonly EventTuple[], lastNumber: number): readonly LeadershipEvent[] {
  return tuples.map((tuple, index) => decodeEvent(tuple, lastNumber - tuples.length + 1 + index));
}

function decodeEvent(
  [term, leader, previous, reason, tsMs, by]: EventTuple,
  number: number,
): LeadershipEvent {
  return {
    number,
    type: leader === 0 ? "LEADER_LOST" : "LEADER_CHANGED",
    term,
    leaderNodeId: leader || null,
    previousLeaderNodeId: previous || null,
    reason,
    tsMs,
    ...(by === undefined ? {} : { by }),
  };
}
