import {
  BackendUnavailableError,
  type CasOp,
  type CasOutcome,
  type Entry,
  NothingWritten,
  type WriteCall,
} from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { Msg } from "@nats-io/transport-node";
import type { Bucket } from "./bucket.js";
import { type PublishAnswer, readPublishAnswer, unserved } from "./failures.js";
import type { Addressee, Connection, Parcel } from "./connection.js";

/** The entries of the bucket, as far as they are known. */
export interface View {
  get(key: string): Entry | null;
}

export interface WriteOptions {
  readonly connection: Connection;
  readonly bucket: Bucket;
  /** Without a request to the server; `null` if nothing is known. */
  readonly known: View | null;
  /** With everything acknowledged before the call. */
  readonly look: (signal: AbortSignal) => Promise<View>;
  readonly call: WriteCall;
  /** Aborted when the caller no longer waits, or the call has taken too long. */
  readonly signal: AbortSignal;
}

/** Refused without being sent. */
const UNSENT: PublishAnswer = { kind: "refused" };

/**
 * One batch in flight: one publish per operation, all sent together, each answered on its own. Nothing is ever sent a
 * second time.
 *
 * A refusal alone is not final. While the leader of a replicated stream changes, two servers may both act as the leader and
 * receive a publish: the deposed one compares with its own data and refuses, the other one may write it. So a refusal counts
 * only once a barrier that was sent after it has been acknowledged. The publishes of one connection reach a server in order,
 * and so do its answers; so if the server that acknowledged the barrier has written the operation, its acknowledgement
 * arrived before, and it replaces the refusal.
 */
class Flight implements Addressee {
  readonly done: Promise<void>;
  readonly answers: (PublishAnswer | undefined)[];
  readonly #connection: Connection;
  readonly #bucket: Bucket;
  readonly #call: WriteCall;
  readonly #tokens: string[] = [];
  readonly #parcels: Parcel[] = [];
  #missing = 0;
  #finish!: () => void;

  constructor(size: number, { connection, bucket, call }: WriteOptions) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#call = call;
    this.answers = Array.from({ length: size });
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get sent(): number {
    return this.#tokens.length;
  }

  send(op: CasOp, index: number): void {
    if (this.#tokens.length === 0) this.#call.begin();
    const parcel = this.#bucket.parcelOf(op);
    this.#tokens.push(this.#connection.send(parcel, this, index));
    this.#parcels[index] = parcel;
    this.#missing++;
  }

  answered(reply: Msg, index: number): void {
    const before = this.answers[index];
    const answer = readPublishAnswer(reply, this.#bucket.stream);
    if (before === undefined) this.#missing--;
    if (before === undefined || answer.kind === "written") this.answers[index] = answer;
    if (answer.kind === "written") {
      this.#call.answered(index, { kind: "swapped", revision: answer.revision });
      this.#bucket.learn(this.#parcels[index] as Parcel, answer.revision);
    }
    if (this.#missing === 0) this.#finish();
  }

  /** A refusal relies on the order of publishes and answers, which ends with the connection. */
  lost(cause: Error): void {
    this.giveUp(cause);
    for (const [index, answer] of this.answers.entries()) {
      if (answer?.kind === "refused" && answer !== UNSENT) this.answers[index] = { kind: "unknown", cause };
    }
  }

  /** Operations without an answer get none. */
  giveUp(cause: Error): void {
    for (const [index, answer] of this.answers.entries()) {
      if (answer === undefined) this.answers[index] = { kind: "unknown", cause };
    }
    this.#missing = 0;
    this.#finish();
  }

  /** Stops listening to answers. */
  land(): void {
    for (const token of this.#tokens) this.#connection.forget(token);
  }
}

export async function writeBatch(batch: readonly CasOp[], options: WriteOptions): Promise<CasOutcome[]> {
  const { connection, bucket, known, signal } = options;
  signal.throwIfAborted();
  // The bucket may have been opened on another server of the cluster.
  const problem = bucket.problemOf(connection);
  if (problem !== null) throw new BackendUnavailableError(`replicas ${problem}`);
  for (const op of batch) bucket.checkSize(op, connection);
  const flight = new Flight(batch.length, options);
  const stopListening = onAbort(signal, () => flight.giveUp(signal.reason as Error));
  try {
    sendAll(batch, flight, known);
    if (flight.sent > 0) await flight.done;
    return await settle(batch, flight, options);
  } finally {
    stopListening();
    flight.land();
  }
}

function sendAll(batch: readonly CasOp[], flight: Flight, known: View | null): void {
  for (const [index, op] of batch.entries()) {
    // Revisions only rise: an operation against a replaced revision cannot win and is not sent.
    if ((known?.get(op.key)?.revision ?? 0) > (op.expected ?? 0)) {
      flight.answers[index] = UNSENT;
      continue;
    }
    try {
      flight.send(op, index);
    } catch (error) {
      if (flight.sent === 0) throw new NothingWritten(error);
      flight.giveUp(error as Error);
      return;
    }
  }
}

async function settle(batch: readonly CasOp[], flight: Flight, options: WriteOptions): Promise<CasOutcome[]> {
  const { answers } = flight;
  const isUntouched = answers.every((answer) => answer === UNSENT || answer?.kind === "unserved");
  if (isUntouched && flight.sent > 0) throw new NothingWritten(unserved(options.bucket.name));
  let view: View | null = null;
  let failure: unknown = null;
  if (answers.some((answer) => answer?.kind === "refused")) {
    try {
      view = await options.look(options.signal);
    } catch (error) {
      if (isUntouched) throw new NothingWritten(error);
      failure = error;
    }
  }
  // Read only now: an acknowledgement may have replaced a refusal meanwhile.
  return batch.map((op, index) => {
    const answer = answers[index] as PublishAnswer;
    if (answer.kind !== "refused") return outcomeOf(answer, options.bucket);
    if (view === null) return { kind: "uncertain", cause: failure };
    return refusal(op, view.get(op.key), answer !== UNSENT && options.bucket.replicas > 1);
  });
}

function outcomeOf(answer: Exclude<PublishAnswer, { kind: "refused" }>, bucket: Bucket): CasOutcome {
  switch (answer.kind) {
    case "written":
      return { kind: "swapped", revision: answer.revision };
    case "unserved":
      return { kind: "uncertain", cause: unserved(bucket.name) };
    case "unknown":
      return { kind: "uncertain", cause: answer.cause };
  }
}

/**
 * If the entry has the value of the operation, it may be this very write: refused by a deposed leader, written by the other
 * one, its acknowledgement lost in another change of leaders. So the outcome is uncertain.
 */
function refusal(op: CasOp, current: Entry | null, isDoubtful: boolean): CasOutcome {
  const isReplaced = current !== null && current.revision > (op.expected ?? 0);
  if (isDoubtful && isReplaced && current.value === op.value) {
    const cause = new BackendUnavailableError("refused, and the entry is what this write would have left");
    return { kind: "uncertain", cause };
  }
  return { kind: "conflict", current };
}
