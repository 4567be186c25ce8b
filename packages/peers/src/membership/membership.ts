/**
 * The servers that are there, as each announced itself to this server: leases by identity, kept in its own store. A
 * lease changes only at the request of its owner; the lease of a silent server expires.
 */
import { type Clock, sendMoment, type SendMoment } from "@tenure/core";
import type { OwnRecords } from "../disk/own-records.js";
import type { ActiveMember, MembershipView } from "../protocol/messages.js";

export interface MemberLease extends ActiveMember {
  readonly updatedAtUnix: number;
  readonly expiresAtUnix: number;
}

interface Stored extends MemberLease {
  /** The server has sent its goodbye. */
  readonly left?: true;
}

interface Known {
  readonly stored: Stored;
  /** When it announced itself; after a restart, the time of the start. */
  readonly since: SendMoment;
  /** When this identity was last announced over another disk than `stored.disk`. */
  readonly before?: { readonly disk: string; readonly since: SendMoment };
  /** When an announcement last came from a disk that another disk had replaced before. */
  readonly contestedSince?: SendMoment;
}

export interface MembershipOptions {
  readonly self: string;
  /** The ttl of a member's lease: three times that of the leader. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly records: OwnRecords;
}

const PREFIX = "members/";

export class Membership implements MembershipView {
  readonly #options: MembershipOptions;
  readonly #known = new Map<string, Known>();
  #isLeaving = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { clock, records, self } = options;
    for (const [identity, value] of records.under(PREFIX)) {
      // No trusted clock shows how long this server was down, so leases count from the start, which errs towards
      // waiting.
      if (identity !== self) this.#known.set(identity, { stored: value as Stored, since: sendMoment(clock) });
    }
  }

  get leaving(): boolean {
    return this.#isLeaving;
  }

  set leaving(isLeaving: boolean) {
    this.#isLeaving = isLeaving;
  }

  active(): readonly MemberLease[] {
    return [...this.#known.values()].flatMap(({ stored, since, contestedSince }) => {
      if (stored.left === true || this.#isOver(since)) return [];
      const isContested = contestedSince !== undefined && !this.#isOver(contestedSince);
      return [isContested ? { ...stored, contested: true } : stored];
    });
  }

  left(): readonly string[] {
    return [...this.#known.values()].flatMap(({ stored }) => (stored.left === true ? [stored.identity] : []));
  }

  /** Where a server was that has left, as long as that is remembered. */
  departedFrom(identity: string): string | null {
    const stored = this.#known.get(identity)?.stored;
    return stored?.left === true ? stored.endpoint : null;
  }

  /** Sorted and unique: two identities at one endpoint are one entry. */
  endpoints(): readonly string[] {
    return [...new Set(this.active().map(({ endpoint }) => endpoint))].toSorted();
  }

  /** Begins or renews the lease of this identity; a new endpoint replaces the old one. */
  async announce({ identity, endpoint, disk }: ActiveMember): Promise<MemberLease> {
    const { clock, ttlMs, records } = this.#options;
    const wallMs = clock.wallMs();
    const stored: Stored = {
      identity,
      endpoint,
      disk,
      updatedAtUnix: Math.floor(wallMs / 1000),
      expiresAtUnix: Math.ceil((wallMs + ttlMs) / 1000),
    };
    const since = sendMoment(clock);
    await records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, this.#renewed(this.#known.get(identity), stored, since));
    return stored;
  }

  /**
   * Forgets identities that have been silent, or gone, for two of their leases and are not electors: bundles that were
   * lost or replaced never return, and would be kept for ever. The state of an elector still matters to the leader.
   */
  async prune(electors: ReadonlySet<string>): Promise<void> {
    const { records, ttlMs } = this.#options;
    const old = [...this.#known].filter(
      ([identity, { since }]) => !electors.has(identity) && this.#ageMs(since) >= 2 * ttlMs,
    );
    if (old.length === 0) return;
    for (const [identity] of old) this.#known.delete(identity);
    await records.put(Object.fromEntries(old.map(([identity]) => [PREFIX + identity, null])));
  }

  /** Ends the lease of this identity. This is remembered even if it had no lease here, because it may be an elector. */
  async leave(identity: string): Promise<void> {
    const nobody = { identity, endpoint: "", disk: "", updatedAtUnix: 0, expiresAtUnix: 0 };
    const { clock, records } = this.#options;
    const stored: Stored = { ...(this.#known.get(identity)?.stored ?? nobody), left: true };
    await records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, { stored, since: sendMoment(clock) });
  }

  /** A disk that was replaced once was lost; a disk that returns after it was replaced is still in use. */
  #renewed(known: Known | undefined, stored: Stored, since: SendMoment): Known {
    if (known === undefined) return { stored, since };
    const { before, contestedSince } = known;
    const kept = contestedSince === undefined ? {} : { contestedSince };
    if (known.stored.disk === stored.disk) {
      return before === undefined ? { stored, since, ...kept } : { stored, since, before, ...kept };
    }
    const isBack = before?.disk === stored.disk && !this.#isOver(before.since);
    const replaced = { disk: known.stored.disk, since: known.since };
    return { stored, since, before: replaced, ...(isBack ? { contestedSince: since } : kept) };
  }

  #isOver(since: SendMoment): boolean {
    return this.#ageMs(since) >= this.#options.ttlMs;
  }

  #ageMs(since: SendMoment): number {
    const { clock } = this.#options;
    const now = sendMoment(clock);
    return Math.max(now.monotonicMs - since.monotonicMs, now.bootMs - since.bootMs - clock.bootTickMs);
  }
}
