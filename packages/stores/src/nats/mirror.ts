import { randomUUID } from "node:crypto";
import { BackendUnavailableError, type Entry, type FeedSink, type Revision } from "@tenure/core";
import { FeedHub } from "@tenure/core/internal";
import type { Msg, Subscription } from "@nats-io/transport-node";
import { RevisionWaiters } from "../revision-waiters.js";
import type { Bucket } from "./bucket.js";
import { isUnserved, readApiAnswer } from "./failures.js";
import type { Connection } from "./connection.js";
import { Progress } from "./progress.js";

export interface MirrorOptions {
  readonly connection: Connection;
  readonly bucket: Bucket;
  /** The revision of a barrier that is sent after the call. */
  readonly barrier: () => Promise<Revision>;
}

const HEARTBEAT_MS = 500;
/**
 * After this time without a message or a heartbeat the server hangs, or the consumer is gone. If heartbeats come and an
 * acknowledged revision does not come for this time, the consumer is served by a replica that has lost its leader.
 */
const SILENCE_MS = 2000;
const CREATE_MS = 3000;
/** A cluster without a leader drops the request silently, and its next leader does not know the request. */
const CREATE_AGAIN_MS = 200;
/** The server removes a consumer without a listener after this time. */
const ABANDONED_MS = 30_000;
/** How long to wait for the later message that makes up for a missing one, before a barrier is written. */
const GAP_WAIT_MS = 30;
const NS_PER_MS = 1_000_000;
const CONTROL = 100;

/**
 * Everything in the bucket, in memory, kept up to date by one consumer of the stream. All feeds of a store are served
 * from it, and so are its conflicts: after a barrier has come through here, what is here is at least as new as every
 * write acknowledged before the barrier was sent. A read from a server could not show that: followers answer direct
 * reads, and a deposed leader answers the others.
 *
 * The consumer starts at the first message that is left, which with one value per key is the same as the last of each
 * key. It may be served by any replica, however late: progress counts only what was delivered. Deliveries are numbered,
 * so one that gets lost is seen. Any failure ends the mirror with its reason, and everything that hangs on it; the store
 * makes another when it is needed.
 */
export class Mirror {
  readonly #connection: Connection;
  readonly #bucket: Bucket;
  readonly #barrier: () => Promise<Revision>;
  readonly #consumer = `tenure-${randomUUID()}`;
  readonly #inbox = `_INBOX.${randomUUID()}`;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  readonly #progress = new Progress();
  readonly #entries = new Map<string, Entry>();
  readonly #hub: FeedHub;
  readonly #waiters = new RevisionWaiters();
  /** Delivered and not yet shown, in revision order. */
  readonly #held = new Map<string, Entry>();
  #shown: Revision = 0;
  #isShowing = false;
  #deliveries = 0;
  #heardAtMs = performance.now();
  #takenAtMs = performance.now();
  /** An acknowledged revision that has not been shown yet, and since when it is due. */
  #due: { readonly revision: Revision; readonly sinceMs: number } | null = null;
  /** Runs until a barrier is sent for what is missing. */
  #gapTimer: NodeJS.Timeout | undefined;
  #ended: Error | null = null;

  constructor({ connection, bucket, barrier }: MirrorOptions) {
    this.#connection = connection;
    this.#bucket = bucket;
    this.#barrier = barrier;
    this.#hub = new FeedHub(() => ({ entries: [...this.#entries.values()], revision: this.#shown }));
    this.#subscription = connection.listen(this.#inbox, (message) => this.#hear(message));
    // `setImmediate`: if the process was too busy to read, messages that have arrived are read first.
    this.#watchdog = setInterval(() => setImmediate(() => this.#watch()), HEARTBEAT_MS);
    void connection.ended.then((reason) => this.end(reason));
    this.#createConsumer().catch((error: unknown) => this.end(broken("no consumer could be made", error)));
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  get(key: string): Entry | null {
    return this.#entries.get(key) ?? null;
  }

  /** Resolves when everything at or below `revision` is here; rejects when the mirror ends. */
  reached(revision: Revision): Promise<void> {
    return this.#waiters.wait(revision);
  }

  /** `revision` was acknowledged, so it must be delivered soon. */
  expect(revision: Revision): void {
    if (this.#due === null && revision > this.#shown) this.#due = { revision, sinceMs: performance.now() };
  }

  /** Serves a feed until `signal` is aborted. To be called once a revision was reached. */
  join(sink: FeedSink, signal: AbortSignal): void {
    if (this.#ended !== null) throw this.#ended;
    this.#hub.join(sink, signal);
  }

  end(reason: Error): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    clearInterval(this.#watchdog);
    this.#stopGapTimer();
    this.#subscription.unsubscribe();
    this.#connection.tell(`$JS.API.CONSUMER.DELETE.${this.#bucket.stream}.${this.#consumer}`);
    this.#hub.fail(reason);
    this.#waiters.fail(reason);
  }

  async #createConsumer(): Promise<void> {
    const { stream } = this.#bucket;
    const config = {
      name: this.#consumer,
      deliver_subject: this.#inbox,
      deliver_policy: "all",
      replay_policy: "instant",
      ack_policy: "none",
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * NS_PER_MS,
      inactive_threshold: ABANDONED_MS * NS_PER_MS,
      num_replicas: 1,
      mem_storage: true,
    };
    const payload = JSON.stringify({ stream_name: stream, config });
    const subject = `$JS.API.CONSUMER.CREATE.${stream}.${this.#consumer}`;
    const reply = await this.#connection.ask(
      { subject, payload },
      { limitMs: CREATE_MS, againMs: CREATE_AGAIN_MS },
    );
    if (isUnserved(reply)) throw new Error("JetStream has no leader at the moment");
    readApiAnswer(reply);
  }

  #hear(message: Msg): void {
    if (this.#ended !== null) return;
    this.#heardAtMs = performance.now();
    try {
      if (message.subject === this.#inbox) this.#takeControl(message);
      else this.#take(message);
    } catch (error) {
      // An error thrown into the library would end the delivery of all messages of the connection.
      this.end(broken("a message could not be taken", error));
    }
  }

  #take(message: Msg): void {
    this.#takenAtMs = this.#heardAtMs;
    const { revision, delivery } = positionOf(message.reply ?? "");
    if (delivery !== ++this.#deliveries) return this.end(broken(`delivery ${this.#deliveries} was lost`));
    if (revision <= this.#progress.delivered) return this.end(broken(`revision ${revision} came again`));
    // The progress before a gap is shown first: after it, later values would replace entries that are due.
    if (this.#progress.isGap(revision)) this.#show();
    const entry = this.#bucket.entryOf(message, revision);
    if (entry !== null) {
      // Moved to the end, because a map keeps the place of a key that it has.
      this.#held.delete(entry.key);
      this.#held.set(entry.key, entry);
    }
    this.#progress.deliver(revision, () => this.#bucket.replacedBy(message));
    this.#goOn();
  }

  /** Heartbeats and flow control. */
  #takeControl(message: Msg): void {
    const { headers, reply } = message;
    if (headers === undefined || headers.code !== CONTROL) {
      return this.end(broken(`the consumer was ended: ${headers?.status ?? "without a reason"}`));
    }
    const stalled = headers.get("Nats-Consumer-Stalled");
    if (stalled !== "") this.#connection.tell(stalled);
    if (reply !== undefined && reply !== "") return this.#connection.tell(reply);
    const sent = headers.get("Nats-Last-Consumer");
    if (sent !== "" && Number(sent) !== this.#deliveries) this.end(broken(`delivery ${sent} was lost`));
  }

  #goOn(): void {
    if (!this.#progress.needsBarrier) this.#stopGapTimer();
    else if (this.#progress.isHopeless) this.#sendBarrier();
    else this.#gapTimer ??= setTimeout(() => this.#onGapTimer(), GAP_WAIT_MS);
    if (this.#isShowing || this.#progress.reached === this.#shown) return;
    // At the end of the turn, so that messages that arrived together are shown as one item.
    this.#isShowing = true;
    queueMicrotask(() => {
      this.#isShowing = false;
      if (this.#ended === null) this.#show();
    });
  }

  /** `setImmediate`: if the process was too busy to read, messages that have arrived are read first. */
  #onGapTimer(): void {
    setImmediate(() => {
      if (this.#ended === null && this.#progress.needsBarrier) this.#sendBarrier();
    });
  }

  #stopGapTimer(): void {
    clearTimeout(this.#gapTimer);
    this.#gapTimer = undefined;
  }

  #sendBarrier(): void {
    this.#stopGapTimer();
    this.#progress.sendBarrier();
    this.#barrier().then(
      (revision) => {
        if (this.#ended !== null) return;
        this.#progress.setBarrier(revision);
        this.#goOn();
      },
      (error: unknown) => this.end(broken("no barrier could be written", error)),
    );
  }

  #show(): void {
    const { reached } = this.#progress;
    if (reached === this.#shown) return;
    const entries = [...this.#held.values()];
    for (const entry of entries) this.#entries.set(entry.key, entry);
    this.#held.clear();
    this.#shown = reached;
    if (this.#due !== null && this.#due.revision <= reached) this.#due = null;
    this.#hub.publish(entries, reached);
    this.#waiters.reach(reached);
  }

  #watch(): void {
    const longAgoMs = performance.now() - SILENCE_MS;
    if (this.#heardAtMs < longAgoMs) this.end(broken(`nothing was heard for ${SILENCE_MS} ms`));
    else if (this.#due !== null && Math.max(this.#due.sinceMs, this.#takenAtMs) < longAgoMs) {
      this.end(broken(`revision ${this.#due.revision} has not come for ${SILENCE_MS} ms`));
    }
  }
}

function broken(why: string, cause?: unknown): BackendUnavailableError {
  return new BackendUnavailableError(`the feed broke: ${why}; open another`, { cause });
}

/**
 * From the subject that a delivery would be acknowledged on: `$JS.ACK.<stream>.<consumer>.<times>.<stream
 * sequence>.<delivery>.<time>.<pending>`, on some servers with domain and account before the stream.
 */
function positionOf(reply: string): { readonly revision: Revision; readonly delivery: number } {
  const tokens = reply.split(".");
  const at = tokens.length === 9 ? 5 : 7;
  return { revision: Number(tokens[at]), delivery: Number(tokens[at + 1]) };
}
