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
  SIGN_PERIOD_MS,
  SILENT_PERIODS,
  type SeenMember,
} from "../members.js";
import type { Entry, Revision } from "../store/store.js";
import type { Batcher } from "./batcher.js";
import { membersKey } from "./keys.js";

/** The most that are kept of one group; the longest silent go first. */
const MOST_MEMBERS = 256;
const GONE_AFTER_MS = SIGN_PERIOD_MS * SILENT_PERIODS;

interface Known {
  member: SeenMember;
  /** When this process saw its last sign, on the monotonic clock. */
  seenAtMs: number;
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
    page.known.set(nodeId, { member: merged ?? member, seenAtMs: nowMs });
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
      if (known === undefined) page.known.set(member.nodeId, { member, seenAtMs: nowMs });
      else if (member.lastSignMs > known.member.lastSignMs) {
        page.known.set(member.nodeId, {
          member: mergeMembers([known.member], [member])[0] ?? member,
          seenAtMs: nowMs,
        });
      }
    }
  }

  members(groupId: string): readonly SeenMember[] {
    const page = this.#pages.get(groupId);
    if (page === undefined) return [];
    const nowMs = this.#clock.monotonicMs();
    for (const [nodeId, { seenAtMs }] of page.known) {
      if (nowMs - seenAtMs >= GONE_AFTER_MS) page.known.delete(nodeId);
    }
    const members = [...page.known.values()].map(({ member }) => member);
    return members.sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
  }

  close(): void {
    this.#closed = true;
    this.#cancelTimer?.();
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
