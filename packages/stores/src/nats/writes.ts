import { BackendUnavailableError, type CasOp, type CasOutcome, type Entry } from "@tenure/core";
import type { Msg } from "@nats-io/transport-node";
import type { Bucket } from "./bucket.js";
import { type PublishAnswer, readPublishAnswer, unserved } from "./failures.js";
import type { Addressee, Link, Parcel } from "./link.js";

/** What is known of the bucket. */
export interface View {
  get(key: string): Entry | null;
}

export interface WriteOptions {
  readonly link: Link;
  readonly bucket: Bucket;
  /** As far as it is known without asking; `null`: not at all. */
  readonly known: View | null;
  /** Everything acknowledged before the call. */
  readonly look: (signal: AbortSignal) => Promise<View>;
  /** Aborted when the caller no longer waits, or has waited too long. */
  readonly signal: AbortSignal;
}

/** Refused without having been sent. */
const UNSENT: PublishAnswer = { kind: "refused" };

/**
 * One batch under way: one publish per operation, all sent together, each answered on its own. Nothing is ever sent a
 * second time.
 *
 * A refusal is not the last word. While the leader of a replicated stream changes, two servers may take themselves for
 * it and both receive a publish: the deposed one compares with what it has and refuses, the other may write it. So a
 * refusal counts only once a barrier, sent after it, has been acknowledged. Publishes of one connection reach a server
 * in their order, and its answers come back in theirs; so if whoever acknowledged the barrier wrote the operation, then
 * its acknowledgement was here first, and it outdoes the refusal.
 */
class Flight implements Addressee {
  readonly done: Promise<void>;
  readonly answers: (PublishAnswer | undefined)[];
  readonly #link: Link;
  readonly #bucket: Bucket;
  readonly #tokens: string[] = [];
  readonly #parcels: Parcel[] = [];
  #missing = 0;
  #finish!: () => void;

  constructor(link: Link, bucket: Bucket, size: number) {
    this.#link = link;
    this.#bucket = bucket;
    this.answers = Array.from({ length: size });
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get sent(): number {
    return this.#tokens.length;
  }

  send(op: CasOp, index: number): void {
    const parcel = this.#bucket.parcelOf(op);
    this.#tokens.push(this.#link.send(parcel, this, index));
    this.#parcels[index] = parcel;
    this.#missing++;
  }

  answered(reply: Msg, index: number): void {
    const before = this.answers[index];
    const answer = readPublishAnswer(reply, this.#bucket.stream);
    if (before === undefined) this.#missing--;
    if (before === undefined || answer.kind === "written") this.answers[index] = answer;
    if (answer.kind === "written") this.#bucket.learn(this.#parcels[index] as Parcel, answer.revision);
    if (this.#missing === 0) this.#finish();
  }

  /** Until it has landed: with the connection goes the order of publishes and answers that a refusal rests on. */
  lost(cause: Error): void {
    this.giveUp(cause);
    for (const [index, answer] of this.answers.entries()) {
      if (answer?.kind === "refused" && answer !== UNSENT) this.answers[index] = { kind: "unknown", cause };
    }
  }

  /** Whatever has no answer by now gets none. */
  giveUp(cause: Error): void {
    for (const [index, answer] of this.answers.entries()) {
      if (answer === undefined) this.answers[index] = { kind: "unknown", cause };
    }
    this.#missing = 0;
    this.#finish();
  }

  /** From here on answers are not listened to. */
  land(): void {
    for (const token of this.#tokens) this.#link.forget(token);
  }
}

/** Rejects only if nothing was or will be written. */
export async function writeBatch(batch: readonly CasOp[], options: WriteOptions): Promise<CasOutcome[]> {
  const { link, bucket, known, signal } = options;
  signal.throwIfAborted();
  // It was another server that was connected to when the bucket was opened.
  const problem = bucket.problemOf(link);
  if (problem !== null) throw new BackendUnavailableError(`replicas ${problem}`);
  for (const op of batch) bucket.checkSize(op, link);
  const flight = new Flight(link, bucket, batch.length);
  const abort = (): void => flight.giveUp(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    sendAll(batch, flight, known);
    if (flight.sent > 0) await flight.done;
    return await settle(batch, flight, options);
  } finally {
    signal.removeEventListener("abort", abort);
    flight.land();
  }
}

function sendAll(batch: readonly CasOp[], flight: Flight, known: View | null): void {
  for (const [index, op] of batch.entries()) {
    // Revisions only rise: what was replaced already cannot win, and is spared the way.
    if ((known?.get(op.key)?.revision ?? 0) > (op.expected ?? 0)) {
      flight.answers[index] = UNSENT;
      continue;
    }
    try {
      flight.send(op, index);
    } catch (error) {
      if (flight.sent === 0) throw error;
      flight.giveUp(error as Error);
      return;
    }
  }
}

async function settle(batch: readonly CasOp[], flight: Flight, options: WriteOptions): Promise<CasOutcome[]> {
  const { answers } = flight;
  const isUntouched = answers.every((answer) => answer === UNSENT || answer?.kind === "unserved");
  if (isUntouched && flight.sent > 0) throw unserved(options.bucket.name);
  let view: View | null = null;
  let failure: unknown = null;
  if (answers.some((answer) => answer?.kind === "refused")) {
    try {
      view = await options.look(options.signal);
    } catch (error) {
      if (isUntouched) throw error;
      failure = error;
    }
  }
  // Only now: an answer may have changed meanwhile.
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
 * Its own write, refused by a deposed leader, is what the caller may be looking at, if the acknowledgement was lost in
 * yet another change of leaders. Who could have written the very same, is told that nothing is certain.
 */
function refusal(op: CasOp, current: Entry | null, isDoubtful: boolean): CasOutcome {
  const isReplaced = current !== null && current.revision > (op.expected ?? 0);
  if (isDoubtful && isReplaced && current.value === op.value) {
    const cause = new BackendUnavailableError("refused, and the entry is what this write would have left");
    return { kind: "uncertain", cause };
  }
  return { kind: "conflict", current };
}
