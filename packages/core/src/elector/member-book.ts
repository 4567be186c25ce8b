/**
 * Records the nodes that were seen, in one key per group: the member page. A page is written at most once per period,
 * or once a second while members arrive or become ready. A member is gone when this server has not seen its entry
 * change for three periods.
 *
 * No decision depends on members, so nothing here may delay a decision. Pages are written in slices spread over the
 * period, one slice at a time, and an unreadable page affects only its own group.
 */
import { type Clock, sleep } from "../clock.js";
import {
  decodeMembers,
  encodeMembers,
  healthAfter,
  SIGN_PERIOD_MS,
  type SeenMember,
  type Sign,
} from "../members.js";
import type { Entry } from "../store/store.js";
import type { Batcher } from "./batcher.js";
import { DeadlineQueue } from "./deadline-queue.js";
import { membersKey } from "./keys.js";
import { type KnownMember, MAX_MEMBERS, MemberPage } from "./member-page.js";

/** How soon after its last write a page with a new member is written again: an operator may transfer to that node. */
const NEWS_PERIOD_MS = 1000;
/** Pages with a new member that are written outside the slices, at the same time. */
const MAX_NEWS_IN_FLIGHT = 16;
/** Pause between two slices of pages. */
const SLICE_MS = 100;
const MIN_SLICE_PAGES = 16;
const MAX_ATTEMPTS = 3;

export class MemberBook {
  readonly #batcher: Batcher;
  readonly #clock: Clock;
  readonly #deadlines: DeadlineQueue<MemberPage>;
  readonly #pages = new Map<string, MemberPage>();
  /** Pages to write, in the order in which they became due. */
  readonly #queue = new Set<MemberPage>();
  /**
   * The largest length of the queue since it was last empty: the slices are large enough to finish it within one
   * period.
   */
  #queuePeak = 0;
  #isWriting = false;
  #newsInFlight = 0;
  #closed = false;

  constructor(batcher: Batcher, clock: Clock) {
    this.#batcher = batcher;
    this.#clock = clock;
    this.#deadlines = new DeadlineQueue(clock, (page) => this.#look(page));
  }

  /** Groups with members that this server remembers. */
  get size(): number {
    return this.#pages.size;
  }

  /**
   * Records that a node was seen which the group has admitted. Every renewal calls it, so it does as little as
   * possible.
   */
  sign(groupId: string, sign: Sign): void {
    const page = this.#page(groupId);
    const nowMs = this.#clock.monotonicMs();
    const isNews = page.isNews(sign);
    if (sign.metadata === null && !isNews && page.isRecent(sign.nodeId, nowMs, SIGN_PERIOD_MS / 2)) return;
    page.hasNews ||= isNews;
    page.sign({ ...sign, lastSignMs: this.#wallMs() }, nowMs);
    page.isDirty = true;
    // `#look` takes time proportional to the number of members, so thousands of arrivals within a second must not each
    // call it.
    if (page.hasNews && isDue(page, nowMs)) this.#look(page);
    else this.#plan(page, nowMs);
  }

  /** Records a node whose campaign waits, until the returned function is called. */
  startWaiting(groupId: string, sign: Sign): () => void {
    const { nodeId } = sign;
    this.sign(groupId, sign);
    const page = this.#page(groupId);
    page.startWaiting(nodeId);
    this.#plan(page, this.#clock.monotonicMs());
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      page.stopWaiting(nodeId);
      // Its silence begins now.
      this.sign(groupId, { nodeId, isCandidate: true, metadata: null, ready: null });
    };
  }

  /** Takes over a page that another server, or this one, has written. */
  observe(groupId: string, { value, revision }: Entry): void {
    const read = decodeMembers(value);
    const members = read.kind === "members" ? read.members : [];
    // A page without members is not worth memory; a write of it learns the revision from the conflict.
    if (members.length === 0 && !this.#pages.has(groupId)) return;
    const page = this.#page(groupId);
    if (page.revision !== null && revision <= page.revision) return;
    page.revision = revision;
    page.isNewer = read.kind === "newer";
    page.isStored = members.length > 0;
    const nowMs = this.#clock.monotonicMs();
    page.merge(members, nowMs);
    this.#plan(page, nowMs);
  }

  members(groupId: string): readonly SeenMember[] {
    const known = this.known(groupId);
    return known.filter(({ silentMs }) => healthAfter(silentMs) !== "down").map(({ member }) => member);
  }

  /** Every member that takes part, or did until a few minutes ago. */
  known(groupId: string): readonly KnownMember[] {
    const known = this.#pages.get(groupId)?.known(this.#clock.monotonicMs()) ?? [];
    return [...known].sort((a, b) => (a.member.nodeId < b.member.nodeId ? -1 : 1));
  }

  /** Drops all members of a group that this server has deleted, here and in the store. */
  empty(groupId: string): void {
    this.#clear(groupId, 0);
  }

  /** The same for a group that another server has deleted. That server empties the page, if it can. */
  emptyLater(groupId: string): void {
    this.#clear(groupId, SIGN_PERIOD_MS);
  }

  close(): void {
    this.#closed = true;
    this.#deadlines.close();
  }

  #wallMs(): number {
    return Math.round(this.#clock.wallMs());
  }

  #page(groupId: string): MemberPage {
    let page = this.#pages.get(groupId);
    if (page === undefined) {
      page = new MemberPage(groupId);
      this.#pages.set(groupId, page);
    }
    return page;
  }

  #clear(groupId: string, delayMs: number): void {
    const page = this.#pages.get(groupId);
    if (page === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    page.clear();
    page.isDirty = false;
    page.writtenAtMs = nowMs + delayMs - SIGN_PERIOD_MS;
    this.#look(page);
  }

  #plan(page: MemberPage, nowMs: number): void {
    const writeAtMs = wantsWrite(page) ? Math.max(nowMs, nextWriteMs(page)) : Number.POSITIVE_INFINITY;
    this.#deadlines.set(page, Math.min(writeAtMs, page.forgetAtMs));
  }

  #look(page: MemberPage): void {
    const nowMs = this.#clock.monotonicMs();
    page.signWaiting(nowMs, this.#wallMs());
    page.forgetSilent(nowMs);
    if (isDue(page, nowMs)) this.#enqueue(page);
    this.#settle(page, nowMs);
  }

  /** A page without members, here and in the store, is not kept. */
  #settle(page: MemberPage, nowMs: number): void {
    const isOver = page.isEmpty && !page.isQueued && !wantsWrite(page);
    if (isOver && this.#pages.get(page.groupId) === page) this.#pages.delete(page.groupId);
    if (isOver || this.#closed) this.#deadlines.set(page, Number.POSITIVE_INFINITY);
    else this.#plan(page, nowMs);
  }

  #enqueue(page: MemberPage): void {
    page.isQueued = true;
    if (page.hasNews && this.#newsInFlight < MAX_NEWS_IN_FLIGHT) {
      this.#newsInFlight++;
      void this.#write(page).finally(() => this.#newsInFlight--);
      return;
    }
    this.#queue.add(page);
    this.#queuePeak = Math.max(this.#queuePeak, this.#queue.size);
    if (this.#isWriting) return;
    this.#isWriting = true;
    // All pages that become due in this turn make up the first slices.
    this.#clock.soon(() => void this.#writeSlices());
  }

  /** The next slice is sent when the last one was answered, so that pages never delay renewals. */
  async #writeSlices(): Promise<void> {
    while (this.#queue.size > 0 && !this.#closed) {
      const pages = Math.max(MIN_SLICE_PAGES, Math.ceil((this.#queuePeak * SLICE_MS) / SIGN_PERIOD_MS));
      const pause = sleep(this.#clock, SLICE_MS);
      await Promise.all([...take(this.#queue, pages)].map((page) => this.#write(page)));
      await pause;
    }
    this.#queuePeak = 0;
    this.#isWriting = false;
  }

  /** A failure costs one period: the page is written again when the member is next seen. */
  async #write(page: MemberPage): Promise<void> {
    page.isDirty = false;
    page.hasNews = false;
    page.writtenAtMs = this.#clock.monotonicMs();
    try {
      await this.#store(page);
    } catch {
      page.isDirty = true;
    } finally {
      page.isQueued = false;
      this.#settle(page, this.#clock.monotonicMs());
    }
  }

  async #store(page: MemberPage): Promise<void> {
    const { groupId } = page;
    const key = membersKey(groupId);
    for (let attempt = 0; attempt < MAX_ATTEMPTS && !this.#closed && !page.isNewer; attempt++) {
      if (page.isEmpty && !page.isStored) return;
      const members = [...this.members(groupId)].sort((a, b) => b.lastSignMs - a.lastSignMs);
      const value = encodeMembers(members.slice(0, MAX_MEMBERS));
      const outcome = await this.#batcher.submitLater({ key, expected: page.revision, value });
      if (outcome.kind === "swapped")
        return this.observe(groupId, { key, value, revision: outcome.revision });
      if (outcome.kind === "uncertain") return;
      if (outcome.current !== null) this.observe(groupId, outcome.current);
    }
  }
}

/** New signs of life, waiting campaigns, or a stored page whose members are all gone. */
function wantsWrite(page: MemberPage): boolean {
  const isChanged = page.isDirty || page.hasWaiting || (page.isEmpty && page.isStored);
  return isChanged && !page.isNewer && !page.isQueued;
}

function isDue(page: MemberPage, nowMs: number): boolean {
  return wantsWrite(page) && nextWriteMs(page) <= nowMs;
}

function nextWriteMs({ writtenAtMs, hasNews }: MemberPage): number {
  return writtenAtMs + (hasNews ? NEWS_PERIOD_MS : SIGN_PERIOD_MS);
}

function* take<T>(from: Set<T>, count: number): Generator<T> {
  let left = count;
  for (const each of from) {
    if (left-- === 0) return;
    from.delete(each);
    yield each;
  }
}
