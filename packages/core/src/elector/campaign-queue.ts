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
 * The order is that of `ranksBefore`: ready campaigns first, then by strategy, then by arrival. A candidate waits by several
 * campaigns, one after the other: a client cuts a long wait into short ones, and campaigns again when it becomes ready. So a
 * campaign that leaves unelected leaves its *place*, which the next one of the same node and instance takes if it comes
 * soon. A successor whose wait has ended has left only when its place is given up; one that hung up has left at once.
 *
 * Each arrival, departure and look costs O(log n): a heap for each order in which campaigns are taken, in which campaigns
 * that are out stay until they come to the top or are half of it.
 */
import type { GroupPolicy } from "../policy.js";
import type { TransferMark } from "../record.js";
import { maySucceed, ranksBefore, type Waiters } from "../rules/upkeep.js";
import { Heap } from "./heap.js";
import type { Waiter } from "./waiter.js";

type Strategy = GroupPolicy["strategy"];

/** Below this a heap is not worth cleaning. */
const MIN_CLEANED = 32;
/** How long a place is kept: a client that campaigns again at once needs a round trip, and may have to connect first. */
const PLACE_KEPT_MS = 1000;

interface Place {
  readonly waiter: Waiter;
  readonly untilMs: number;
  /** The transfer that its candidate is the successor of, and may come back for; `null`: none. */
  readonly handover: number | null;
}

export class CampaignQueue implements Waiters<Waiter> {
  readonly #byNode = new Map<string, Set<Waiter>>();
  readonly #ends = new Heap<Waiter>((a, b) => a.endsAtMs < b.endsAtMs);
  /** Made when a group's policy first asks for that order. */
  readonly #ranked = new Map<Strategy, Heap<Waiter>>();
  /** By candidate, the first to be given up first. */
  readonly #places = new Map<string, Place>();
  #size = 0;
  #successor: TransferMark | null = null;
  #departed: string | null = null;
  /** Counts the transfers that became ready, one after the other. */
  #handover = 0;

  /** How many are queued or named. */
  get size(): number {
    return this.#size;
  }

  /** Nothing is left that anybody needs this queue for. */
  get isIdle(): boolean {
    return this.#size === 0 && this.#departed === null && this.#places.size === 0;
  }

  /** The ready transfer in the record, which names the successor that the leader is asked to yield to. */
  set successor(mark: TransferMark | null) {
    if (mark?.toNodeId !== this.#successor?.toNodeId) this.#handover++;
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
    this.#places.delete(placeOf(waiter));
    this.#queue(waiter);
  }

  /** Without a place: it was elected or refused, or the server closes. */
  remove(waiter: Waiter): void {
    if (this.#takeOut(waiter)) this.#notice(waiter);
  }

  /** Its caller has hung up, perhaps between the end of its wait and the answer. */
  leave(waiter: Waiter, nowMs: number): void {
    if (!this.#takeOut(waiter) && !this.#isExpectedBack(waiter)) return;
    this.#keepPlace(waiter, nowMs, null);
    this.#notice(waiter);
  }

  /**
   * This server has made the transfer ready, because the successor waited here. A campaign of the successor that left while this
   * was written counts as one that leaves now: if its caller hung up, it has departed; if its wait ended, it is expected back.
   */
  madeReady(): void {
    const mark = this.#successor;
    if (mark === null) return;
    for (const each of this.#byNode.get(mark.toNodeId) ?? []) if (this.#maySucceed(each)) return;
    for (const [key, place] of this.#places) {
      if (!this.#maySucceed(place.waiter) || place.waiter.gone) continue;
      this.#places.set(key, { ...place, handover: this.#handover });
      return;
    }
    this.#departed = mark.toNodeId;
  }

  /** Gives a campaign that has just arrived the place that its candidate has left, if that is still kept. */
  restorePlace(waiter: Waiter, nowMs: number): void {
    const place = this.#places.get(placeOf(waiter));
    if (place === undefined || place.untilMs <= nowMs) return;
    waiter.order = Math.min(waiter.order, place.waiter.order);
  }

  /** False if it was out before. */
  #takeOut(waiter: Waiter): boolean {
    if (waiter.state === "out") return false;
    waiter.state = "out";
    const { nodeId } = waiter.candidate;
    const ofNode = this.#byNode.get(nodeId);
    ofNode?.delete(waiter);
    this.#size--;
    if (ofNode?.size === 0) this.#byNode.delete(nodeId);
    return true;
  }

  /** Notices that the successor has departed, if this was its last campaign that the transfer is for. */
  #notice(waiter: Waiter): void {
    if (!this.#maySucceed(waiter)) return;
    const { nodeId } = waiter.candidate;
    for (const other of this.#byNode.get(nodeId) ?? []) if (this.#maySucceed(other)) return;
    this.#departed = nodeId;
  }

  /** Whether its wait has ended, and its place is kept because the present transfer is for its candidate. */
  #isExpectedBack(waiter: Waiter): boolean {
    const place = this.#places.get(placeOf(waiter));
    return place?.waiter === waiter && place.handover === this.#handover;
  }

  #keepPlace(waiter: Waiter, nowMs: number, handover: number | null): void {
    const key = placeOf(waiter);
    this.#places.delete(key);
    this.#places.set(key, { waiter, untilMs: nowMs + PLACE_KEPT_MS, handover });
  }

  #givePlacesUp(nowMs: number): void {
    for (const [key, { waiter, untilMs, handover }] of this.#places) {
      if (untilMs > nowMs) return;
      this.#places.delete(key);
      // A later transfer to the same node was made ready where the node waits now.
      if (handover === this.#handover) this.#notice(waiter);
    }
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

  /** When the next wait of a queued campaign ends, or the next place is given up; `Infinity`: neither. */
  nextEndMs(): number {
    const endsAtMs = this.#top(this.#ends)?.endsAtMs ?? Number.POSITIVE_INFINITY;
    const [place] = this.#places.values();
    return Math.min(endsAtMs, place?.untilMs ?? Number.POSITIVE_INFINITY);
  }

  /** Takes out queued campaigns whose wait has ended, at most `limit`, and gives up places that were kept long enough. */
  takeEnded(nowMs: number, limit: number): readonly Waiter[] {
    const ended: Waiter[] = [];
    this.#givePlacesUp(nowMs);
    for (let top = this.#top(this.#ends); top !== null; top = this.#top(this.#ends)) {
      if (top.endsAtMs > nowMs || ended.length === limit) break;
      this.#ends.pop();
      this.#takeOut(top);
      this.#keepPlace(top, nowMs, this.#maySucceed(top) ? this.#handover : null);
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

function placeOf({ candidate: { nodeId, instanceId } }: Waiter): string {
  return `${nodeId} ${instanceId ?? ""}`;
}

function isElectable(waiter: Waiter): boolean {
  return waiter.state === "queued" && !waiter.gone;
}
