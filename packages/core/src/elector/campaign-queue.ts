/**
 * The campaigns that wait for one group at this server, in the order in which the group may go to them. Each server has its
 * own queue; there is no order between servers.
 *
 * The life of a waiting campaign. It *arrives* at `StoreElector.campaign`, gets the next number of order, and is tried once
 * (`Campaigns.attemptOrWait`). If it does not win, `Housekeeper.enqueue` puts it into this queue, where it is *queued*
 * until its wait ends, counted from its arrival. Its *place* follows from `ranksBefore`: ready campaigns first, then by
 * priority if the group's policy says so, then by order of arrival. The housekeeper *wakes up* when the record changes,
 * when a campaign arrives or leaves, and when a lease, a mark (pause, ban, takeover delay, transfer) or a wait ends. The
 * campaign that may win is *granted* the leadership in the same write that ends the old lease, so watchers see no vacancy;
 * this holds for a resignation, an expired lease and a step-down alike (`Campaigns.fill`, `Campaigns.upkeep`). A newcomer
 * that meets a vacancy does not overtake the queue: the first waiting campaign is granted it, and the newcomer is tried
 * again. From the decision until the outcome of its write is known, the campaign is *named*: it is not answered, not named
 * by another write, and not taken out. If the write landed, it is answered and is *out*. If the write did not land, the
 * campaign is queued again. If the outcome is unknown, the record is read and the campaign is queued again; should the
 * record show it as the leader, the next write confirms it, and only then is it answered. When the *wait ends*, the
 * campaign is taken out, tried once more and answered. When the caller *hangs up* (its signal aborts), the campaign is
 * taken out unelected; if it was named, the write decides first, and a term that it is known to have won is given back
 * (`Campaigns.#takeBack`). When the server *closes*, every queued campaign is answered as lost without another try.
 *
 * One candidate waits by several campaigns in a row: a client divides a long wait into short ones, and campaigns again when
 * it becomes ready. So a campaign that leaves unelected, by the end of its wait or by a hang-up, leaves its place for
 * `PLACE_KEPT_MS`. The next campaign of the same node and instance takes that place (`restorePlace`): it keeps the old
 * number of order.
 *
 * Reservations. While a transfer is ready, the leader is asked to yield to one successor, and the vacancy that follows is
 * reserved for that node (`MAX_RESERVED_MS`). The queue reports in `departed` that the successor has left, so that the
 * upkeep stops asking the leader to yield and ends the reservation, and the other candidates need not wait for its time
 * limit. A successor that hung up has left at once. A successor whose wait ended is expected back, and has left when its
 * place is given up. A successor has also left if its last ready campaign has, even if a cold one stays, unless the
 * operator allowed a cold successor.
 *
 * Each arrival, departure and look costs O(log n): there is one heap for each order in which campaigns are taken. Campaigns
 * that are out stay in a heap until they reach the top or make up half of the heap.
 */
import type { GroupPolicy } from "../policy.js";
import type { TransferMark } from "../record.js";
import { maySucceed, ranksBefore, type Waiters } from "../rules/upkeep.js";
import { Heap } from "./heap.js";
import type { Waiter } from "./waiter.js";

type Strategy = GroupPolicy["strategy"];

/** A smaller heap is not worth cleaning. */
const MIN_CLEANED = 32;
/** How long a place is kept: a client that campaigns again at once needs a round trip, and may have to connect first. */
const PLACE_KEPT_MS = 1000;

interface Place {
  readonly waiter: Waiter;
  readonly untilMs: number;
  /** The transfer to this candidate, for which it may come back; `null`: none. */
  readonly handover: number | null;
}

export class CampaignQueue implements Waiters<Waiter> {
  readonly #byNode = new Map<string, Set<Waiter>>();
  readonly #ends = new Heap<Waiter>((a, b) => a.endsAtMs < b.endsAtMs);
  /** Created when a group's policy first needs that order. */
  readonly #ranked = new Map<Strategy, Heap<Waiter>>();
  /** By candidate; the place that is given up first comes first. */
  readonly #places = new Map<string, Place>();
  #size = 0;
  #successor: TransferMark | null = null;
  #departed: string | null = null;
  /** Counts the transfers that became ready, in sequence. */
  #handover = 0;

  /** How many are queued or named. */
  get size(): number {
    return this.#size;
  }

  /** Nothing in this queue is needed any more. */
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

  /** Takes a campaign out without keeping its place: it was elected or refused, or the server closes. */
  remove(waiter: Waiter): void {
    if (this.#takeOut(waiter)) this.#notice(waiter);
  }

  /** The caller has hung up, possibly between the end of the wait and the answer. */
  leave(waiter: Waiter, nowMs: number): void {
    if (!this.#takeOut(waiter) && !this.#isExpectedBack(waiter)) return;
    this.#keepPlace(waiter, nowMs, null);
    this.#notice(waiter);
  }

  /**
   * This server has made the transfer ready, because the successor waited here. A campaign of the successor that left
   * while this was written counts as if it left now: if its caller hung up, the successor has departed; if its wait
   * ended, the successor is expected back.
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

  /** False if the campaign was out already. */
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

  /** Notes that the successor has departed, if this was its last campaign that may succeed. */
  #notice(waiter: Waiter): void {
    if (!this.#maySucceed(waiter)) return;
    const { nodeId } = waiter.candidate;
    for (const other of this.#byNode.get(nodeId) ?? []) if (this.#maySucceed(other)) return;
    this.#departed = nodeId;
  }

  /** Whether its wait has ended and its place is kept because the current transfer is to its candidate. */
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
      // A later transfer to the same node was made ready by the server where the node waits now.
      if (handover === this.#handover) this.#notice(waiter);
    }
  }

  /** Whether the ready transfer is to this campaign. */
  #maySucceed(waiter: Waiter): boolean {
    const mark = this.#successor;
    return mark?.toNodeId === waiter.candidate.nodeId && maySucceed(mark, waiter);
  }

  /** A write that is about to be sent grants the leadership to this campaign. */
  name(waiter: Waiter): void {
    waiter.state = "named";
  }

  /** That write did not land, or its outcome is unknown. */
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
