/**
 * One connection that watches many groups. After every break it continues, each group from its own cursor: no event is
 * missed or delivered twice.
 */
import { pathOf, type shapes, watchEvent } from "@tenure/api";
import type { WatchEvent } from "@tenure/core";
import { errorOf, isRefusal, UnexpectedAnswerError } from "./errors.js";
import { reconnecting } from "./reconnecting.js";
import { keepAliveMs, leastOf, type Patience } from "./patience.js";
import { sseConnection } from "./sse-connection.js";
import type { TransportParts } from "./transport.js";

/** One group's part in a stream. It gets events until it fails, once. */
export interface GroupSubscription {
  readonly groupId: string;
  /** The cursor of the last delivered event. Before the first event: where to begin, `undefined` for the state. */
  cursor: number | undefined;
  /** How long its stream may be silent. */
  readonly patience: Patience;
  /**
   * Called with the error when no server can be reached or the stream's server is silent, and with `null` when one was
   * reached.
   */
  readonly contact: (error: unknown) => void;
  readonly take: (event: WatchEvent) => void;
  readonly fail: (error: unknown) => void;
}

export interface SharedStreamParts {
  readonly parts: TransportParts;
  readonly random: () => number;
  /** Time limit until the first answer of one server. */
  readonly timeoutMs: number;
  /** No subscription is left in the stream. */
  readonly ended: (stream: SharedStream) => void;
}

export class SharedStream {
  readonly #parts: SharedStreamParts;
  readonly #subscriptions: Map<string, GroupSubscription>;
  readonly #leaving = new AbortController();
  /** How many groups the connection was opened for; the events of those that have left since are ignored. */
  readonly openedFor: number;

  constructor(parts: SharedStreamParts, subscriptions: Map<string, GroupSubscription>) {
    this.#parts = parts;
    this.#subscriptions = subscriptions;
    this.openedFor = subscriptions.size;
    void this.#run();
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  has(groupId: string): boolean {
    return this.#subscriptions.has(groupId);
  }

  holds(subscription: GroupSubscription): boolean {
    return this.#subscriptions.get(subscription.groupId) === subscription;
  }

  leave({ groupId }: GroupSubscription): void {
    this.#subscriptions.delete(groupId);
    if (this.#subscriptions.size === 0) this.close();
  }

  /** Closes the connection, and returns the subscriptions that are still in it. */
  close(): readonly GroupSubscription[] {
    const left = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    this.#parts.ended(this);
    this.#leaving.abort(new Error("no watch uses the connection any more"));
    return left;
  }

  async #run(): Promise<void> {
    const { parts, random, timeoutMs } = this.#parts;
    const { signal } = this.#leaving;
    const contact = (error: Error | null) => this.#contact(error);
    const connect = (endpoint: Parameters<typeof sseConnection>[1]) => {
      const patience = leastOf([...this.#subscriptions.values()].map((each) => each.patience));
      const request = {
        parts,
        method: "POST",
        path: pathOf("watchMany"),
        body: this.#body(patience),
        timeoutMs,
        patience,
        contact,
        signal,
      } as const;
      return sseConnection(request, endpoint);
    };
    try {
      for await (const { data } of reconnecting({ parts, random, signal, connect, lost: contact }))
        this.#take(data);
    } catch (error) {
      for (const { fail } of this.close()) fail(error);
    }
  }

  #contact(error: unknown): void {
    for (const { contact } of this.#subscriptions.values()) contact(error);
  }

  #body(patience: Patience): object {
    const watches = [...this.#subscriptions.values()].map(({ groupId, cursor }) => ({
      group_id: groupId,
      cursor,
    }));
    return { watches, keep_alive_ms: keepAliveMs(patience) };
  }

  #take(data: Readonly<Record<string, unknown>>): void {
    const groupId = String(data["group_id"]);
    const subscription = this.#subscriptions.get(groupId);
    if (subscription === undefined) return;
    if (isRefusal(data)) {
      this.leave(subscription);
      return subscription.fail(errorOf(data, { groupId }));
    }
    const reply = data as unknown as shapes.NumberedEvent;
    if (reply.number === undefined) throw new UnexpectedAnswerError("an event came without its number");
    subscription.cursor = reply.number;
    subscription.take(watchEvent(reply, reply.number));
  }
}
