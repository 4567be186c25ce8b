/** The requests of ZooKeeper's protocol that a store needs, and the shapes of their answers. */
import type { JuteReader, JuteWriter } from "./jute.js";

export const OP = {
  create: 1,
  exists: 3,
  getData: 4,
  setData: 5,
  getChildren: 8,
  ping: 11,
  check: 13,
  multi: 14,
  create2: 15,
  multiRead: 22,
  auth: 100,
  addWatch: 106,
  closeSession: -11,
  error: -1,
} as const;

export type OpCode = (typeof OP)[keyof typeof OP];

/** Answers that belong to no request, by their number. */
export const XID = { event: -1, ping: -2, auth: -4 } as const;

/** Of the kinds of events, the one that matters: all others say that a node is new or has changed. */
export const DELETED = 2;

/** Of those that mean something to us. */
export const CODE = {
  ok: 0,
  marshalling: -5,
  unimplemented: -6,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
  sessionMoved: -118,
  quotaExceeded: -125,
  throttled: -127,
} as const;

const ALL_PERMISSIONS = 31;
const PERSISTENT_RECURSIVE = 1;
const PERSISTENT_NODE = 0;
const ANY_VERSION = -1;
const STAT_BYTES = 68;

/** Who may read and write the nodes that the store creates: everyone, or only the user that the store has authenticated as. */
export type Access = "anyone" | "creator";

export interface Create {
  readonly kind: "create";
  readonly path: string;
  readonly data: string;
  readonly access: Access;
}

export interface SetData {
  readonly kind: "set";
  readonly path: string;
  readonly data: string;
  readonly version: number;
}

/** A node as a read or a write shows it. */
export interface NodeState {
  readonly data: string;
  readonly mzxid: number;
  readonly version: number;
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

export function writeConnect(writer: JuteWriter, timeoutMs: number): void {
  // Protocol version, last zxid seen, timeout, no session to go on with, no password, and never read-only.
  writer.int(0).zeroLong().int(timeoutMs).zeroLong().text("").flag(false);
}

/** The session timeout that the server grants; 0 if it refuses. */
export function readConnected(reader: JuteReader): number {
  return reader.skip(4).int();
}

export function writeDigestAuth(writer: JuteWriter, { user, password }: Credentials): void {
  writer.int(0).text("digest").text(`${user}:${password}`);
}

export function writePath(writer: JuteWriter, path: string): void {
  // Every read has a flag for a watch of its own; ours is one for all.
  writer.text(path).flag(false);
}

export function writeAddWatch(writer: JuteWriter, path: string): void {
  writer.text(path).int(PERSISTENT_RECURSIVE);
}

export function writeSingle(writer: JuteWriter, op: Create | SetData): void {
  writer.text(op.path).text(op.data);
  if (op.kind === "set") writer.int(op.version);
  else writeAcl(writer, op.access).int(PERSISTENT_NODE);
}

export function writeMulti(writer: JuteWriter, ops: readonly (Create | SetData)[]): void {
  for (const op of ops) {
    // Not `create2`: inside a multi the server cannot apply it.
    writeMultiHeader(writer, op.kind === "set" ? OP.setData : OP.create);
    writeSingle(writer, op);
  }
  writeMultiEnd(writer);
}

/** A transaction that changes nothing. */
export function writeCheck(writer: JuteWriter, path: string): void {
  writeMultiHeader(writer, OP.check);
  writer.text(path).int(ANY_VERSION);
  writeMultiEnd(writer);
}

export function writeMultiRead(
  writer: JuteWriter,
  op: typeof OP.getData | typeof OP.getChildren,
  paths: readonly string[],
): void {
  for (const path of paths) {
    writeMultiHeader(writer, op);
    writePath(writer, path);
  }
  writeMultiEnd(writer);
}

export type WriteResult =
  | { readonly kind: "written" }
  /** Nothing was written, because of the operation at `index`; `null`: not because of any single one. */
  | { readonly kind: "failed"; readonly index: number | null; readonly code: number };

/** The answer to `writeMulti` and `writeCheck`. All or nothing: the first error is the reason of all others. */
export function readMultiWritten(reader: JuteReader, zxid: number): WriteResult {
  let failed: WriteResult = { kind: "written" };
  readMulti(reader, (index, kind, code) => {
    if (code !== CODE.ok && failed.kind === "written") failed = { kind: "failed", index, code };
    if (kind === OP.create) reader.text();
    if (kind === OP.setData) checkStat(reader, zxid);
  });
  return failed;
}

/** The answer to `writeSingle`. */
export function readSingleWritten(reader: JuteReader, kind: "create" | "set", zxid: number): void {
  if (kind === "create") reader.text();
  checkStat(reader, zxid);
}

/**
 * A server answers a write right after it has applied it and before the next, so the number of the answer is that of the
 * write. Were it not so, revisions would be wrong, and nothing may go on.
 */
function checkStat(reader: JuteReader, zxid: number): void {
  const { mzxid } = readStat(reader);
  if (mzxid !== zxid) throw new RangeError(`a write was numbered ${mzxid}, and its answer ${zxid}`);
}

/** The answer to a read of several: calls `each` with the code of each; if it is `ok`, it reads that one's body. */
export function readMultiRead(reader: JuteReader, each: (index: number, code: number) => void): void {
  readMulti(reader, (index, _, code) => each(index, code));
}

function readMulti(reader: JuteReader, each: (index: number, kind: number, code: number) => void): void {
  for (let index = 0; ; index++) {
    const kind = reader.int();
    const isEnd = reader.flag();
    reader.skip(4);
    if (isEnd) return;
    each(index, kind, kind === OP.error ? reader.int() : CODE.ok);
  }
}

export function readNode(reader: JuteReader): NodeState {
  const data = reader.text();
  return { data, ...readStat(reader) };
}

function readStat(reader: JuteReader): { readonly mzxid: number; readonly version: number } {
  const mzxid = reader.skip(8).zxid();
  const version = reader.skip(16).int();
  reader.skip(STAT_BYTES - 36);
  return { mzxid, version };
}

export function readNames(reader: JuteReader): string[] {
  const count = Math.max(0, reader.int());
  return Array.from({ length: count }, () => reader.text());
}

function writeMultiHeader(writer: JuteWriter, kind: OpCode): void {
  writer.int(kind).flag(false).int(-1);
}

function writeMultiEnd(writer: JuteWriter): void {
  writer.int(-1).flag(true).int(-1);
}

function writeAcl(writer: JuteWriter, access: Access): JuteWriter {
  writer.int(1).int(ALL_PERMISSIONS);
  return access === "anyone" ? writer.text("world").text("anyone") : writer.text("auth").text("");
}
