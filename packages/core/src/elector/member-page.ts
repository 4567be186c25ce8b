/** The members of one group as this server knows them, and what the store holds of them. */
import { healthAfter, mergeMembers, type SeenMember, type Sign } from "../members.js";
import type { Revision } from "../store/store.js";
import type { QueuedItem } from "./deadline-queue.js";

/** Members kept of one group, in memory and in the store. The longest silent ones are dropped first. */
export const MAX_MEMBERS = 256;
/** A member that has been silent for this long is forgotten. Until then its health is reported as `down`. */
const FORGOTTEN_AFTER_MS = 600_000;

interface Known {
  readonly member: SeenMember;
  /** When this process last saw the member, on the monotonic clock. */
  readonly seenAtMs: number;
  /** Start of the current unbroken series of sightings, on the wall clock of the server that saw them. */
  readonly healthySinceMs: number;
}

export interface KnownMember {
  readonly member: SeenMember;
  /** Time since this server last saw the member. */
  readonly silentMs: number;
  readonly healthySinceMs: number;
}

export class MemberPage implements QueuedItem {
  readonly groupId: string;
  /** Revision of the stored page; `null`: none was seen. */
  revision: Revision | null = null;
  /** The stored page has a newer format. This server must not overwrite it. */
  isNewer = false;
  /** The stored page holds members, as far as this server has seen. */
  isStored = false;
  /** There are sightings that are not stored yet. */
  isDirty = false;
  /** One of these sightings is of a node that is new here, campaigns for the first time, or has become ready or cold. */
  hasNews = false;
  /** Waits for its slice, or is being written. */
  isQueued = false;
  writtenAtMs: number = Number.NEGATIVE_INFINITY;

  dueMs: number = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  heapMs = 0;

  /** Longest silent first: a member that is seen moves to the end. */
  readonly #known = new Map<string, Known>();
  /** How many campaigns of each node wait here. */
  #waiting: Map<string, number> | null = null;

  constructor(groupId: string) {
    this.groupId = groupId;
  }

  get isEmpty(): boolean {
    return this.#known.size === 0 && this.#waiting === null;
  }

  get hasWaiting(): boolean {
    return this.#waiting !== null;
  }

  isNews({ nodeId, isCandidate, ready }: Sign): boolean {
    const member = this.#known.get(nodeId)?.member;
    if (member === undefined || (isCandidate && !member.isCandidate)) return true;
    return ready !== null && ready !== (member.ready ?? true);
  }

  /** Whether `nodeId` was seen less than `withinMs` ago. */
  isRecent(nodeId: string, nowMs: number, withinMs: number): boolean {
    const known = this.#known.get(nodeId);
    return known !== undefined && nowMs - known.seenAtMs < withinMs;
  }

  sign(member: SeenMember, nowMs: number): void {
    const before = this.#known.get(member.nodeId);
    const merged = before === undefined ? member : (mergeMembers([before.member], [member])[0] ?? member);
    const unbroken = before !== undefined && healthAfter(nowMs - before.seenAtMs) === "healthy";
    const healthySinceMs = unbroken ? before.healthySinceMs : member.lastSignMs;
    this.#known.delete(member.nodeId);
    this.#known.set(member.nodeId, { member: merged, seenAtMs: nowMs, healthySinceMs });
    if (this.#known.size > MAX_MEMBERS) this.#dropLongestSilent();
  }

  /** Takes over what another server saw, where that is news. */
  merge(members: readonly SeenMember[], nowMs: number): void {
    for (const member of [...members].sort((a, b) => a.lastSignMs - b.lastSignMs)) {
      const known = this.#known.get(member.nodeId);
      if (known === undefined || member.lastSignMs > known.member.lastSignMs) this.sign(member, nowMs);
    }
  }

  startWaiting(nodeId: string): void {
    this.#waiting ??= new Map();
    this.#waiting.set(nodeId, (this.#waiting.get(nodeId) ?? 0) + 1);
  }

  stopWaiting(nodeId: string): void {
    const count = this.#waiting?.get(nodeId) ?? 0;
    if (count > 1) this.#waiting?.set(nodeId, count - 1);
    else this.#waiting?.delete(nodeId);
    if (this.#waiting?.size === 0) this.#waiting = null;
  }

  /** A node whose campaign waits counts as seen all the time. Nodes beyond the size of a page are not looked at. */
  signWaiting(nowMs: number, wallMs: number): void {
    if (this.#waiting === null) return;
    let left = MAX_MEMBERS;
    for (const nodeId of this.#waiting.keys()) {
      if (left-- === 0) return;
      this.sign({ nodeId, isCandidate: true, lastSignMs: wallMs, metadata: null, ready: null }, nowMs);
    }
  }

  /** When the longest silent member is to be forgotten. */
  get forgetAtMs(): number {
    const first = this.#known.values().next().value;
    return first === undefined ? Number.POSITIVE_INFINITY : first.seenAtMs + FORGOTTEN_AFTER_MS;
  }

  forgetSilent(nowMs: number): void {
    while (this.forgetAtMs <= nowMs) this.#dropLongestSilent();
  }

  clear(): void {
    this.#known.clear();
  }

  known(nowMs: number): readonly KnownMember[] {
    return Array.from(this.#known.values(), ({ member, seenAtMs, healthySinceMs }) => ({
      member,
      silentMs: this.#waiting?.has(member.nodeId) === true ? 0 : nowMs - seenAtMs,
      healthySinceMs,
    })).filter(({ silentMs }) => silentMs < FORGOTTEN_AFTER_MS);
  }

  #dropLongestSilent(): void {
    const first = this.#known.keys().next().value;
    if (first !== undefined) this.#known.delete(first);
  }
}
