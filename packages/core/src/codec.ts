/**
 * How records and histories are stored: JSON with short keys, in which empty fields are left out, so that a renewed
 * record is a few hundred bytes. `v` is the format's version: it distinguishes a newer format from a damaged value.
 */
import type { EndReason, LeadershipEvent } from "./event.js";
import type { GroupHistory } from "./history.js";
import type { ActName, OperatorAct, Order } from "./operator-act.js";
import {
  EMPTY_RECORD,
  type ElectionRecord,
  type Ban,
  type EndedTerm,
  type GroupConfig,
  type Holder,
  type PauseMark,
  type TransferMark,
} from "./record.js";

const FORMAT = 1;

const REASONS: readonly LeadershipEvent["reason"][] = [
  "expired",
  "resigned",
  "deposed",
  "transferred",
  "none",
];

type EventTuple = readonly [
  term: number,
  leader: string | 0,
  previous: string | 0,
  /** The first letter of the reason; versions before wrote the whole word. */
  reason: string,
  tsMs: number,
  ...(readonly [by?: string, silentMs?: number] | readonly [silentMs: number]),
];

type OrderTuple = readonly [by: string, reason: string | 0, tsMs: number];

/** An act without its names; `more` has what only some acts have. */
type ActTuple = readonly [
  number: number,
  act: ActName,
  by: string,
  reason: string | 0,
  tsMs: number,
  term: number,
  more?: Pick<OperatorAct, "nodeId" | "forMs" | "force" | "changes">,
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
  readonly bans?: readonly (readonly [nodeId: string, leftMs: number, order?: OrderTuple])[];
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
  readonly pauseBy?: OrderTuple;
  readonly delay?: number;
  readonly ended?: readonly [term: number, nodeId: string, reason: EndReason, instanceId?: string];
  readonly no?: number;
  readonly ev?: readonly EventTuple[];
  readonly act?: ActTuple;
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
    bans: record.bans.length === 0 ? undefined : record.bans.map(encodeBan),
    transfer: transfer === null ? undefined : encodeTransfer(transfer),
    pause: pause === null ? undefined : (pause.leftMs ?? 0),
    pauseBy: pause?.order === undefined ? undefined : encodeOrder(pause.order),
    delay: record.delayMs || undefined,
    ended:
      ended === null
        ? undefined
        : ended.instanceId === null
          ? [ended.term, ended.nodeId, ended.reason]
          : [ended.term, ended.nodeId, ended.reason, ended.instanceId],
    no: record.eventNumber || undefined,
    ev: record.events.length === 0 ? undefined : record.events.map(encodeEvent),
    act: record.act === null ? undefined : encodeAct(record.act),
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
    bans: encoded.bans?.map(decodeBan) ?? EMPTY_RECORD.bans,
    transfer: transfer === undefined ? null : decodeTransfer(transfer),
    pause: pause === undefined ? null : decodePause(pause, encoded.pauseBy),
    delayMs: encoded.delay ?? 0,
    ended: decodeEnded(encoded),
    eventNumber,
    events: encoded.ev === undefined ? EMPTY_RECORD.events : decodeEvents(encoded.ev, eventNumber),
    act: encoded.act === undefined ? null : decodeAct(encoded.act),
    config: encoded.config ?? null,
    founder: encoded.fnd ?? null,
    deleted: encoded.deleted === 1,
  };
}

interface EncodedHistory {
  readonly v: number;
  readonly nos: readonly number[];
  readonly ev: readonly EventTuple[];
  readonly acts?: readonly ActTuple[] | undefined;
}

export function encodeHistory({ events, acts }: GroupHistory): string {
  const encoded: EncodedHistory = {
    v: FORMAT,
    nos: events.map((event) => event.number),
    ev: events.map(encodeEvent),
    acts: acts.length === 0 ? undefined : acts.map(encodeAct),
  };
  return JSON.stringify(encoded);
}

export function decodeHistory(value: string): GroupHistory {
  const { nos, ev, acts = [] } = parse<EncodedHistory>(value);
  return {
    events: ev.map((tuple, index) => decodeEvent(tuple, nos[index] ?? 0)),
    acts: acts.map(decodeAct),
  };
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

function encodeBan({ nodeId, leftMs, order }: Ban): NonNullable<EncodedRecord["bans"]>[number] {
  return order === undefined ? [nodeId, leftMs] : [nodeId, leftMs, encodeOrder(order)];
}

function decodeBan([nodeId, leftMs, order]: NonNullable<EncodedRecord["bans"]>[number]): Ban {
  return { nodeId, leftMs, ...decodeOrder(order) };
}

function decodePause(leftMs: number, order: OrderTuple | undefined): PauseMark {
  return { leftMs: leftMs || null, ...decodeOrder(order) };
}

function encodeOrder({ by, reason, tsMs }: Order): OrderTuple {
  return [by, reason ?? 0, tsMs];
}

function decodeOrder(tuple: OrderTuple | undefined): { order?: Order } {
  if (tuple === undefined) return {};
  const [by, reason, tsMs] = tuple;
  return { order: { by, reason: reason || null, tsMs } };
}

function encodeAct({ number, act, by, reason, tsMs, term, ...more }: OperatorAct): ActTuple {
  const tuple = [number, act, by, reason ?? 0, tsMs, term] as const;
  return Object.keys(more).length === 0 ? tuple : [...tuple, more];
}

function decodeAct([number, act, by, reason, tsMs, term, more]: ActTuple): OperatorAct {
  return { number, act, by, reason: reason || null, tsMs, term, ...more };
}

function encodeEvent(event: LeadershipEvent): EventTuple {
  const { term, leaderNodeId, previousLeaderNodeId, reason, tsMs, by, silentMs } = event;
  const tuple = [term, leaderNodeId ?? 0, previousLeaderNodeId ?? 0, reason.slice(0, 1), tsMs] as const;
  if (by === undefined) return silentMs === undefined ? tuple : [...tuple, silentMs];
  return silentMs === undefined ? [...tuple, by] : [...tuple, by, silentMs];
}

/** Events of a record have no gaps, so the number of the last gives those of all. */
function decodeEvents(tuples: readonly EventTuple[], lastNumber: number): readonly LeadershipEvent[] {
  return tuples.map((tuple, index) => decodeEvent(tuple, lastNumber - tuples.length + 1 + index));
}

function decodeEvent(
  [term, leader, previous, reason, tsMs, ...rest]: EventTuple,
  number: number,
): LeadershipEvent {
  const [by, silentMs] = typeof rest[0] === "number" ? [undefined, rest[0]] : [rest[0], rest[1]];
  return {
    number,
    type: leader === 0 ? "LEADER_LOST" : "LEADER_CHANGED",
    term,
    leaderNodeId: leader || null,
    previousLeaderNodeId: previous || null,
    reason: REASONS.find((each) => each.startsWith(reason)) ?? "none",
    tsMs,
    ...(by === undefined ? {} : { by }),
    ...(silentMs === undefined ? {} : { silentMs }),
  };
}
