/**
 * A batch as the bytes of one `TxnRequest`: an inner transaction for each operation, which compares the key's revision
 * and then either puts the value or reads the key; and the `head`, put whatever becomes of them.
 *
 * Written by hand because this is the path of every renewal: a quarter of what `@grpc/proto-loader` takes for it, and the
 * size is known on the way. A test compares the two.
 */
import { type CasOp, InvalidRequestError } from "@tenure/core";
import type { Keyspace } from "./keyspace.js";

/** A run of a batch's operations that fits into one request. */
export interface EncodedBatch {
  readonly bytes: Buffer;
  readonly ops: readonly CasOp[];
}

interface Sized {
  readonly path: string;
  readonly pathBytes: number;
  readonly valueBytes: number;
  readonly op: CasOp;
  readonly txn: number;
}

/** Below etcd's `--max-request-bytes` as it is unless raised, with room for what etcd adds. */
const MAX_REQUEST_BYTES = 1_500_000;

/** Field numbers times eight, plus two for what has a length and nought for what is a number. */
const TAG = {
  txn: { compare: 0x0a, success: 0x12, failure: 0x1a },
  compare: { target: 0x10, key: 0x1a, modRevision: 0x30 },
  op: { range: 0x0a, put: 0x12, txn: 0x22 },
  key: 0x0a,
  value: 0x12,
};
const TARGET_MOD = 2;

/** One request, but for batches of uncommonly long values, which take more. */
export function encodeBatch(batch: readonly CasOp[], keyspace: Keyspace): EncodedBatch[] {
  const headBytes = Buffer.byteLength(keyspace.head);
  const headOp = field(field(field(headBytes)));
  const requests: EncodedBatch[] = [];
  let run: Sized[] = [];
  let bytes = headOp;
  for (let i = 0; i < batch.length; i++) {
    const sized = sizeOf(batch[i] as CasOp, keyspace);
    const opBytes = field(field(sized.txn));
    if (headOp + opBytes > MAX_REQUEST_BYTES) {
      throw new InvalidRequestError(
        `batch[${i}].value`,
        `must take less than ${MAX_REQUEST_BYTES} bytes with its key`,
      );
    }
    if (bytes + opBytes > MAX_REQUEST_BYTES) {
      requests.push(encode(run, bytes, keyspace.head));
      run = [];
      bytes = headOp;
    }
    run.push(sized);
    bytes += opBytes;
  }
  requests.push(encode(run, bytes, keyspace.head));
  return requests;
}

function sizeOf(op: CasOp, keyspace: Keyspace): Sized {
  const path = keyspace.pathOf(op.key);
  const [pathBytes, valueBytes] = [Buffer.byteLength(path), Buffer.byteLength(op.value)];
  const key = field(pathBytes);
  const compare = 2 + key + 1 + varint(op.expected ?? 0);
  const put = key + field(valueBytes);
  return { op, path, pathBytes, valueBytes, txn: field(compare) + field(field(put)) + field(field(key)) };
}

function encode(run: readonly Sized[], bytes: number, head: string): EncodedBatch {
  const writer = new Writer(bytes);
  for (const sized of run) writeOp(writer, sized);
  const headBytes = Buffer.byteLength(head);
  writer.begin(TAG.txn.success, field(field(headBytes)));
  writer.begin(TAG.op.put, field(headBytes));
  writer.text(TAG.key, head, headBytes);
  return { bytes: writer.bytes, ops: run.map(({ op }) => op) };
}

function writeOp(writer: Writer, { op, path, pathBytes, valueBytes, txn }: Sized): void {
  const expected = op.expected ?? 0;
  const key = field(pathBytes);
  const put = key + field(valueBytes);
  writer.begin(TAG.txn.success, field(txn));
  writer.begin(TAG.op.txn, txn);
  writer.begin(TAG.txn.compare, 2 + key + 1 + varint(expected));
  writer.number(TAG.compare.target, TARGET_MOD);
  writer.text(TAG.compare.key, path, pathBytes);
  writer.number(TAG.compare.modRevision, expected);
  writer.begin(TAG.txn.success, field(put));
  writer.begin(TAG.op.put, put);
  writer.text(TAG.key, path, pathBytes);
  writer.text(TAG.value, op.value, valueBytes);
  writer.begin(TAG.txn.failure, field(key));
  writer.begin(TAG.op.range, key);
  writer.text(TAG.key, path, pathBytes);
}

/** The size of a field whose content has this many bytes: tag, length and content. */
function field(bytes: number): number {
  return 1 + varint(bytes) + bytes;
}

/** Bytes of a number: seven bits in each. Revisions outgrow what bit operations can hold. */
function varint(number: number): number {
  let bytes = 1;
  for (let rest = number; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

class Writer {
  readonly bytes: Buffer;
  #at = 0;

  constructor(bytes: number) {
    this.bytes = Buffer.allocUnsafe(bytes);
  }

  number(tag: number, number: number): void {
    this.bytes[this.#at++] = tag;
    let rest = number;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.bytes[this.#at++] = (rest % 0x80) + 0x80;
    this.bytes[this.#at++] = rest;
  }

  /** Begins a field; the next `bytes` bytes are its content. */
  begin(tag: number, bytes: number): void {
    this.number(tag, bytes);
  }

  text(tag: number, text: string, bytes: number): void {
    this.number(tag, bytes);
    this.bytes.write(text, this.#at, bytes, "utf8");
    this.#at += bytes;
  }
}
