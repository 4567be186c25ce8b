/**
 * The campaigns that wait for one group at this server, in the order in which the group may go to them.
 *
 * The life of a waiting campaign: it arrives and is tried at once. If it is not won, it is *queued* until its wait ends.
 * A write that grants the leadership to a queued campaign *names* it: from the decision until the outcome of the write is
 * known the campaign is not answered and not named again. If the write landed, the campaign is answered and is *out*. If
 * the write did not land, or nobody can tell, the campaign is queued again. A campaign is also out when its wait ends
 * (it is tried once more and answered), when its caller hangs up, or when the server closes; while it is named, all of
 * these wait for the write.
 *
 * The order is that of `ranksBefore`: ready campaigns first, then by strategy, then by arrival.
 *
 * Each arrival, departure and look costs O(log n): a heap for each order in which campaigns are taken, in which campaigns
 * that are out stay until they come to the top or are half of it.
 */
import type { GroupPolicy } from "../policy.js";
import type { TransferMark } from "../record.js";
import { maySucceed, ranksBefore, type Waiters } from "../rules/attend.js";
import { Heap } from "./heap.js";
import type { Waiter } from "./waiter.js";

type Strategy = GroupPolicy["strategy"];

/** Below this a heap is not worth cleaning. */
const MIN_CLEANED = 32;

export class CampaignQueue implements Waiters<Waiter> {
  readonly #byNode = new Map<string, Set<Waiter>>();
  readonly #ends = new Heap<Waiter>((a, b) => a.endsAtMs < b.endsAtMs);
  /** Made when a group's policy first asks for that order. */
  readonly #ranked = new Map<Strategy, Heap<Waiter>>();
  #size = 0;
  #successor: TransferMark | null = null;
  #departed: string | null = null;

  /** How many are queued or named. */
  get size(): number {
    return this.#size;
  }

  /** Nothing is left that anybody needs this queue for. */
  get isIdle(): boolean {
    return this.#size === 0 && this.#departed === null;
  }

  /** The ready transfer in the record, which names the successor that the leader is asked to yield to. */
  set successor(mark: TransferMark | null) {
    this.#successor = mark;
    if (mark === null || this.#departed !== mark.toNodeId) this.#departed = null;
  }

  get departed(): string | null {
    return this.#departed;
  }

  add(waiter: Waiter): void {
    const { nodeId } = waiter.candidate;
    const ofNode = this.#byNode.get(nodeId);
    if (ofNode === undefined) this.#byNode.set(nodeId, new Set([waiter]));
    else ofNode.add(waiter);
    this.#size++;
    if (this.#departed === nodeId && this.#maySucceed(waiter)) this.#departed = null;
    this.#queue(waiter);
  }

  remove(waiter: Waiter): void {
    if (waiter.state === "out") return;
    waiter.state = "out";
    const { nodeId } = waiter.candidate;
    const ofNode = this.#byNode.get(nodeId);
    ofNode?.delete(waiter);
    this.#size--;
    if (ofNode?.size === 0) this.#byNode.delete(nodeId);
    if (this.#maySucceed(waiter) && ![...(ofNode ?? [])].some((other) => this.#maySucceed(other)))
      this.#departed = nodeId;
  }

  /** Whether this campaign is one that the ready transfer is for. */
  #maySucceed(waiter: Waiter): boolean {
    const mark = this.#successor;
    return mark?.toNodeId === waiter.candidate.nodeId && maySucceed(mark, waiter);
  }

  /** A write that is about to be sent grants it the leadership. */
  name(waiter: Waiter): void {
    waiter.state = "named";
  }

  /** That write did not land, or nobody can tell. */
  unname(waiter: Waiter): void {
    if (waiter.state === "named") this.#queue(waiter);
  }

  /** Campaigns of this node that may be elected, in order of arrival. */
  of(nodeId: string): readonly Waiter[] {
    const ofNode = this.#byNode.get(nodeId);
    if (ofNode === undefined) return [];
    return [...ofNode].filter(isElectable).sort((a, b) => a.order - b.order);
  }

  first(strategy: Strategy, mayWin: (nodeId: string) => boolean): Waiter | null {
    const heap = this.#inOrder(strategy);
    const passedOver: Waiter[] = [];
    let first: Waiter | null = null;
    for (let top = this.#top(heap); top !== null; top = this.#top(heap)) {
      if (!top.gone && mayWin(top.candidate.nodeId)) {
        first = top;
        break;
      }
      heap.pop();
      passedOver.push(top);
    }
    for (const each of passedOver) heap.push(each);
    return first;
  }

  /** When the next wait of a queued campaign ends; `Infinity`: none does. */
  nextEndMs(): number {
    return this.#top(this.#ends)?.endsAtMs ?? Number.POSITIVE_INFINITY;
  }

  /** Takes out queued campaigns whose wait has ended, at most `limit`. */
  takeEnded(nowMs: number, limit: number): readonly Waiter[] {
    const ended: Waiter[] = [];
    for (let top = this.#top(this.#ends); top !== null; top = this.#top(this.#ends)) {
      if (top.endsAtMs > nowMs || ended.length === limit) break;
      this.#ends.pop();
      this.remove(top);
      ended.push(top);
    }
    return ended;
  }

  /** All that are queued or named, in no order. */
  *[Symbol.iterator](): Iterator<Waiter> {
    for (const ofNode of this.#byNode.values()) yield* ofNode;
  }

  #queue(waiter: Waiter): void {
    waiter.state = "queued";
    this.#push(this.#ends, waiter);
    for (const heap of this.#ranked.values()) this.#push(heap, waiter);
  }

  /** A campaign that was named meanwhile may be in the heap twice until it is cleaned; the second one is harmless. */
  #push(heap: Heap<Waiter>, waiter: Waiter): void {
    heap.push(waiter);
    if (heap.size <= MIN_CLEANED || heap.size <= 2 * this.#size) return;
    heap.refill(this.#queued());
  }

  *#queued(): Iterable<Waiter> {
    for (const waiter of this) if (waiter.state === "queued") yield waiter;
  }

  #inOrder(strategy: Strategy): Heap<Waiter> {
    let heap = this.#ranked.get(strategy);
    if (heap === undefined) {
      heap = new Heap((a, b) => ranksBefore(strategy, a, b));
      heap.refill(this.#queued());
      this.#ranked.set(strategy, heap);
    }
    return heap;
  }

  /** The first that is queued. */
  #top(heap: Heap<Waiter>): Waiter | null {
    for (let top = heap.peek(); top !== undefined; top = heap.peek()) {
      if (top.state === "queued") return top;
      heap.pop();
    }
    return null;
  }
}

function isElectable(waiter: Waiter): boolean {
  return waiter.state === "queued" && !waiter.gone;
}
