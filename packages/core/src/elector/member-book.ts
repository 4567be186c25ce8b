/**
 * Writes down who gives signs of life, in a key of its own per group: at most every ten seconds per member, all groups
 * of a period in few batches. A member is gone when its entry has not changed for three periods in this server's sight.
 */
import type { CancelTimer, Clock } from "../clock.js";
import type { Metadata } from "../elector.js";
import {
  decodeMembers,
  encodeMembers,
  mergeMembers,
  healthAfter,
  SIGN_PERIOD_MS,
  type SeenMember,
} from "../members.js";
import type { Entry, Revision } from "../store/store.js";
import type { Batcher } from "./batcher.js";
import { membersKey } from "./keys.js";

/** The most that are kept of one group; the longest silent go first. */
const MOST_MEMBERS = 256;
/** Who is gone is still spoken of for so long. */
const FORGOTTEN_AFTER_MS = 600_000;

interface Known {
  member: SeenMember;
  /** When this process saw its last sign, on the monotonic clock. */
  seenAtMs: number;
  /** Since when it gives signs of life without a break, on the wall clock of who saw them. */
  healthySinceMs: number;
}

export interface KnownMember {
  readonly member: SeenMember;
  /** How long nothing was heard of it here. */
  readonly silentMs: number;
  readonly healthySinceMs: number;
}

class Page {
  revision: Revision | null = null;
  readonly known = new Map<string, Known>();
  writtenAtMs: number = Number.NEGATIVE_INFINITY;
}

export class MemberBook {
  readonly #batcher: Batcher;
  readonly #clock: Clock;
  readonly #pages = new Map<string, Page>();
  /** Groups with signs that are not written down yet. */
  readonly #dirty = new Set<string>();
  #cancelTimer: CancelTimer | null = null;
  #closed = false;

  constructor(batcher: Batcher, clock: Clock) {
    this.#batcher = batcher;
    this.#clock = clock;
  }

  /** On the path of every renewal, so it does as little as it can. */
  sign(groupId: string, nodeId: string, isCandidate: boolean, metadata: Metadata | null): void {
    const page = this.#page(groupId);
    const nowMs = this.#clock.monotonicMs();
    const known = page.known.get(nodeId);
    if (known !== undefined && nowMs - known.seenAtMs < SIGN_PERIOD_MS / 2 && metadata === null) return;
    const member = { nodeId, isCandidate, lastSignMs: Math.round(this.#clock.wallMs()), metadata };
    const merged = known === undefined ? member : mergeMembers([known.member], [member])[0];
    this.#set(page, merged ?? member, known, nowMs);
    this.#dirty.add(groupId);
    this.#cancelTimer ??= this.#clock.after(known === undefined ? 0 : SIGN_PERIOD_MS, () => this.#writeAll());
  }

  /** What another server, or this one, wrote. */
  observe(groupId: string, { value, revision }: Entry): void {
    const page = this.#page(groupId);
    if (page.revision !== null && revision <= page.revision) return;
    page.revision = revision;
    const nowMs = this.#clock.monotonicMs();
    for (const member of decodeMembers(value)) {
      const known = page.known.get(member.nodeId);
      if (known === undefined) this.#set(page, member, known, nowMs);
      else if (member.lastSignMs > known.member.lastSignMs) {
        this.#set(page, mergeMembers([known.member], [member])[0] ?? member, known, nowMs);
      }
    }
  }

  members(groupId: string): readonly SeenMember[] {
    const known = this.known(groupId);
    return known.filter(({ silentMs }) => healthAfter(silentMs) !== "down").map(({ member }) => member);
  }

  /** Everybody who takes part, or did not long ago. */
  known(groupId: string): readonly KnownMember[] {
    const page = this.#pages.get(groupId);
    if (page === undefined) return [];
    const nowMs = this.#clock.monotonicMs();
    for (const [nodeId, { seenAtMs }] of page.known) {
      if (nowMs - seenAtMs >= FORGOTTEN_AFTER_MS) page.known.delete(nodeId);
    }
    const known = [...page.known.values()].map(({ member, seenAtMs, healthySinceMs }) => ({
      member,
      silentMs: nowMs - seenAtMs,
      healthySinceMs,
    }));
    return known.sort((a, b) => (a.member.nodeId < b.member.nodeId ? -1 : 1));
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
  }

  #set(page: Page, member: SeenMember, before: Known | undefined, nowMs: number): void {
    const unbroken = before !== undefined && healthAfter(nowMs - before.seenAtMs) === "healthy";
    const healthySinceMs = unbroken ? before.healthySinceMs : member.lastSignMs;
    page.known.set(member.nodeId, { member, seenAtMs: nowMs, healthySinceMs });
  }

  #page(groupId: string): Page {
    let page = this.#pages.get(groupId);
    if (page === undefined) {
      page = new Page();
      this.#pages.set(groupId, page);
    }
    return page;
  }

  /** Groups written less than a period ago wait for the next round. */
  #writeAll(): void {
    this.#cancelTimer = null;
    const nowMs = this.#clock.monotonicMs();
    for (const groupId of this.#dirty) {
      const page = this.#page(groupId);
      if (nowMs - page.writtenAtMs < SIGN_PERIOD_MS) continue;
      page.writtenAtMs = nowMs;
      this.#dirty.delete(groupId);
      // A failure costs one period: the next sign of life writes it again.
      this.#write(groupId, page).catch(() => {});
    }
    if (this.#dirty.size > 0 && !this.#closed) {
      this.#cancelTimer = this.#clock.after(SIGN_PERIOD_MS / 2, () => this.#writeAll());
    }
  }

  async #write(groupId: string, page: Page): Promise<void> {
    for (let attempt = 0; attempt < 3 && !this.#closed; attempt++) {
      const members = [...this.members(groupId)]
        .sort((a, b) => b.lastSignMs - a.lastSignMs)
        .slice(0, MOST_MEMBERS);
      const key = membersKey(groupId);
      const value = encodeMembers(members);
      const outcome = await this.#batcher.submit({ key, expected: page.revision, value });
      if (outcome.kind === "swapped")
        return this.observe(groupId, { key, value, revision: outcome.revision });
      if (outcome.kind === "uncertain") return;
      if (outcome.current !== null) this.observe(groupId, outcome.current);
    }
  }
}
