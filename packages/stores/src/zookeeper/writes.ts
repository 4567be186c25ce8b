/**
 * One batch of compare-and-sets. ZooKeeper compares versions. If the version of the expected revision is known, the write is
 * ready. If not, the entry is read first, behind a barrier: the entry shows the version, or is the conflict. The ready writes
 * are sent as one transaction (per 512 KiB), which is all or nothing: if one write of it fails, that one has lost, and the
 * others are sent again without it. After a few such failures each is sent on its own.
 *
 * A transaction is sent again only after the answer that nothing of it was written, and never if its answer is lost.
 *
 * The entry of a conflict is read on the session on which the write failed, after that answer. A failure is a transaction
 * too, acknowledged by the quorum: the server has then applied everything acknowledged before it, so the read is fresh.
 */
import {
  type BackendUnavailableError,
  type CasOp,
  type CasOutcome,
  NothingWritten,
  type Revision,
  type WriteCall,
} from "@tenure/core";
import { type Connection, inParts, REQUEST_BYTES, type Write } from "./connection.js";
import { failureOf, refusal } from "./failures.js";
import type { VersionBook } from "./version-book.js";

interface Planned extends Write {
  readonly index: number;
}

const WRITES_PER_TRANSACTION = 1024;
const FAILED_TRANSACTIONS = 3;
/** ZooKeeper takes -1 for any version, so it cannot be compared. A node has this version after 2^32 writes. */
const ANY_VERSION = -1;

function bytesOf({ key, value }: Write): number {
  return 9 * key.length + Buffer.byteLength(value);
}

export class BatchWrite {
  readonly #connection: Connection;
  readonly #batch: readonly CasOp[];
  readonly #call: WriteCall;
  /** Sent, and not known not to be written. */
  readonly #open = new Set<number>();
  readonly #losers: number[] = [];
  #answers = 0;
  #hasSwapped = false;
  #refusal: BackendUnavailableError | null = null;

  constructor(connection: Connection, batch: readonly CasOp[], call: WriteCall) {
    this.#connection = connection;
    this.#batch = batch;
    this.#call = call;
  }

  async run(book: VersionBook): Promise<CasOutcome[]> {
    const ready = await this.#plan(book);
    if (this.#connection.session.lost !== null) throw this.#connection.session.lost;
    if (ready.length > 0) this.#call.begin();
    for (const { index } of ready) this.#open.add(index);
    try {
      const limits = { count: WRITES_PER_TRANSACTION, bytes: REQUEST_BYTES };
      const parts = inParts(ready, limits, bytesOf);
      await Promise.all(parts.map((part) => this.#write(part)));
      await this.#showLosers();
    } catch (cause) {
      return this.#settled(cause);
    }
    return this.#settled(this.#refusal);
  }

  #settled(cause: unknown): CasOutcome[] {
    const isUntouched = this.#open.size === 0 && !this.#hasSwapped;
    if (isUntouched && this.#answers < this.#batch.length) throw new NothingWritten(cause);
    return this.#call.outcomes(cause);
  }

  #answer(index: number, outcome: CasOutcome): void {
    this.#answers++;
    this.#call.answered(index, outcome);
  }

  /** The writes that can be sent. A conflict that is certain already is answered here. */
  async #plan(book: VersionBook): Promise<Planned[]> {
    const ready: Planned[] = [];
    const unsure: number[] = [];
    for (const [index, { key, expected, value }] of this.#batch.entries()) {
      const version = expected === null ? (book.has(key) ? undefined : null) : book.versionOf(key, expected);
      if (version === undefined || version === ANY_VERSION) unsure.push(index);
      else ready.push({ index, key, value, version });
    }
    if (unsure.length === 0) return ready;
    const keys = unsure.map((index) => (this.#batch[index] as CasOp).key);
    const [, found] = await Promise.all([this.#connection.barrier(), this.#connection.read(keys)]);
    for (const [i, index] of unsure.entries()) {
      const { key, expected, value } = this.#batch[index] as CasOp;
      const { entry: current = null, version = null } = found[i] ?? {};
      if ((current?.revision ?? null) !== expected || version === ANY_VERSION) {
        this.#answer(index, { kind: "conflict", current });
      } else ready.push({ index, key, value, version });
    }
    return ready;
  }

  async #write(writes: readonly Planned[]): Promise<void> {
    let left = writes;
    for (let failures = 0; left.length > 0; failures++) {
      if (failures === FAILED_TRANSACTIONS && left.length > 1) {
        await Promise.all(left.map((write) => this.#write([write])));
        return;
      }
      const written = await this.#connection.write(left);
      if (written.kind === "written") return this.#swapped(left, written.revision);
      const { index, code } = written;
      const failed = index === null ? left : left.slice(index, index + 1);
      for (const write of failed) this.#failed(write, code);
      left = left.filter((write) => !failed.includes(write));
    }
  }

  #swapped(writes: readonly Planned[], revision: Revision): void {
    this.#hasSwapped = true;
    for (const { index } of writes) {
      this.#answer(index, { kind: "swapped", revision });
      this.#open.delete(index);
    }
  }

  #failed({ index, version }: Planned, code: number): void {
    const failure = failureOf(code, version === null ? "create" : "set");
    if (failure === "conflict") this.#losers.push(index);
    else this.#refusal ??= refusal(code, "a write");
    if (failure !== "unknown") this.#open.delete(index);
  }

  async #showLosers(): Promise<void> {
    if (this.#losers.length === 0) return;
    const found = await this.#connection.read(this.#losers.map((index) => (this.#batch[index] as CasOp).key));
    for (const [i, index] of this.#losers.entries()) {
      this.#answer(index, { kind: "conflict", current: found[i]?.entry ?? null });
    }
  }
}
