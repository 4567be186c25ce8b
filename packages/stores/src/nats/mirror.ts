import { randomUUID } from "node:crypto";
import {
  BackendUnavailableError,
  type CallOptions,
  type Entry,
  FeedHub,
  type FeedItem,
  type Revision,
} from "@tenure/core";
import type { Msg, Subscription } from "@nats-io/transport-node";
import type { Bucket } from "./bucket.js";
import { isUnserved, readApiAnswer } from "./failures.js";
import type { Link } from "./link.js";
import { Progress } from "./progress.js";

export interface MirrorOptions {
  readonly link: Link;
  readonly bucket: Bucket;
  /** The revision of a barrier that is sent after the call. */
  readonly barrier: () => Promise<Revision>;
}

interface Waiting {
  readonly revision: Revision;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

const HEARTBEAT_MS = 500;
/**
 * Neither a message nor a heartbeat for so long: the server hangs, or the consumer is gone. Heartbeats only, and what was
 * acknowledged does not come for so long: it is served by a replica that has lost touch.
 */
const SILENCE_MS = 2000;
const CREATE_MS = 3000;
/** A cluster without a leader drops the request without a word, and who is elected next has never heard of it. */
const CREATE_AGAIN_MS = 200;
/** The server removes a consumer that nobody has listened to for so long. */
const ABANDONED_MS = 30_000;
/** What makes up for a missing message is on its way, unless nobody tells of it: then a barrier after so long. */
const PATIENCE_MS = 30;
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
  readonly #link: Link;
  readonly #bucket: Bucket;
  readonly #barrier: () => Promise<Revision>;
  readonly #consumer = `tenure-${randomUUID()}`;
  readonly #inbox = `_INBOX.${randomUUID()}`;
  readonly #subscription: Subscription;
  readonly #watchdog: NodeJS.Timeout;
  readonly #progress = new Progress();
  readonly #entries = new Map<string, Entry>();
  readonly #hub: FeedHub;
  /** Delivered, and not yet shown: in the order of revisions. */
  readonly #held = new Map<string, Entry>();
  #shown: Revision = 0;
  #isShowing = false;
  #waiting: Waiting[] = [];
  #deliveries = 0;
  #heardAtMs = performance.now();
  #takenAtMs = performance.now();
  /** Acknowledged, and not yet here: since when. */
  #due: { readonly revision: Revision; readonly sinceMs: number } | null = null;
  /** Until a barrier is sent for what is missing. */
  #patience: NodeJS.Timeout | undefined;
  #ended: Error | null = null;

  constructor({ link, bucket, barrier }: MirrorOptions) {
    this.#link = link;
    this.#bucket = bucket;
    this.#barrier = barrier;
    this.#hub = new FeedHub(() => ({ entries: [...this.#entries.values()], revision: this.#shown }));
    this.#subscription = link.listen(this.#inbox, (message) => this.#hear(message));
    // If this process had no time to read what has come, it reads that first.
    this.#watchdog = setInterval(() => setImmediate(() => this.#watch()), HEARTBEAT_MS);
    void link.ended.then((reason) => this.end(reason));
    this.#createConsumer().catch((error: unknown) => this.end(broken("no consumer could be made", error)));
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  get(key: string): Entry | null {
    return this.#entries.get(key) ?? null;
  }

  /** Resolves when everything at or below `revision` is here; rejects when the mirror ends, or with the signal's reason. */
  reached(revision: Revision, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) return reject(this.#ended);
      if (signal.aborted) return reject(signal.reason as Error);
      if (this.#shown >= revision) return resolve();
      const waiting: Waiting = {
        revision,
        resolve: () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
        reject: (reason) => {
          signal.removeEventListener("abort", abort);
          reject(reason);
        },
      };
      const abort = (): void => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.push(waiting);
    });
  }

  /** It was acknowledged, so it must come. */
  expect(revision: Revision): void {
    if (this.#due === null && revision > this.#shown) this.#due = { revision, sinceMs: performance.now() };
  }

  /** To be opened only once a revision was reached. */
  feed(options: CallOptions): AsyncIterable<FeedItem> {
    return this.#hub.feed(options);
  }

  endFeeds(reason: Error): void {
    this.#hub.close(reason);
  }

  end(reason: Error): void {
    if (this.#ended !== null) return;
    this.#ended = reason;
    clearInterval(this.#watchdog);
    this.#stopWaiting();
    this.#subscription.unsubscribe();
    this.#link.tell(`$JS.API.CONSUMER.DELETE.${this.#bucket.stream}.${this.#consumer}`);
    this.#hub.close(reason);
    for (const waiting of this.#waiting.splice(0)) waiting.reject(reason);
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
    const reply = await this.#link.ask(
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
      // Thrown into the library it would silence the whole connection.
      this.end(broken("a message could not be taken", error));
    }
  }

  #take(message: Msg): void {
    this.#takenAtMs = this.#heardAtMs;
    const { revision, delivery } = positionOf(message.reply ?? "");
    if (delivery !== ++this.#deliveries) return this.end(broken(`delivery ${this.#deliveries} was lost`));
    if (revision <= this.#progress.delivered) return this.end(broken(`revision ${revision} came again`));
    // What was reached is shown first: after a gap, later values of its keys would take the place of those due.
    if (this.#progress.isGap(revision)) this.#show();
    const entry = this.#bucket.entryOf(message, revision);
    if (entry !== null) {
      // Moved to the end: a map keeps the place of a key that it has.
      this.#held.delete(entry.key);
      this.#held.set(entry.key, entry);
    }
    this.#progress.deliver(revision, () => this.#bucket.replacedBy(message));
    this.#goOn();
  }

  /** Heartbeats, and requests to say that we keep up. */
  #takeControl(message: Msg): void {
    const { headers, reply } = message;
    if (headers === undefined || headers.code !== CONTROL) {
      return this.end(broken(`the consumer was ended: ${headers?.status ?? "without a reason"}`));
    }
    const stalled = headers.get("Nats-Consumer-Stalled");
    if (stalled !== "") this.#link.tell(stalled);
    if (reply !== undefined && reply !== "") return this.#link.tell(reply);
    const sent = headers.get("Nats-Last-Consumer");
    if (sent !== "" && Number(sent) !== this.#deliveries) this.end(broken(`delivery ${sent} was lost`));
  }

  #goOn(): void {
    if (!this.#progress.needsBarrier) this.#stopWaiting();
    else if (this.#progress.isHopeless) this.#sendBarrier();
    else this.#patience ??= setTimeout(() => this.#losePatience(), PATIENCE_MS);
    if (this.#isShowing || this.#progress.reached === this.#shown) return;
    // At the end of the turn: what came in one piece from the network is shown as one.
    this.#isShowing = true;
    queueMicrotask(() => {
      this.#isShowing = false;
      if (this.#ended === null) this.#show();
    });
  }

  /** If this process had no time to read what has come, it reads that first. */
  #losePatience(): void {
    setImmediate(() => {
      if (this.#ended === null && this.#progress.needsBarrier) this.#sendBarrier();
    });
  }

  #stopWaiting(): void {
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  #sendBarrier(): void {
    this.#stopWaiting();
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
    if (this.#waiting.length === 0) return;
    const done = this.#waiting.filter((each) => each.revision <= reached);
    this.#waiting = this.#waiting.filter((each) => each.revision > reached);
    for (const waiting of done) waiting.resolve();
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
