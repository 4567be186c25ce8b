/**
 * Who is there, as this server was told by each itself: leases by identity, kept in its own store. Nobody's lease is
 * touched but at the wish of its owner; whoever falls silent expires.
 */
import type { Clock } from "@tenure/core";
import type { OwnRecords } from "../disk/own-records.js";
import type { ActiveMember, MembershipView } from "../protocol/messages.js";

export interface MemberLease extends ActiveMember {
  readonly updatedAtUnix: number;
  readonly expiresAtUnix: number;
}

interface Stored extends MemberLease {
  /** It has said goodbye. */
  readonly left?: true;
}

interface Known {
  readonly stored: Stored;
  /** On the monotonic clock. */
  readonly expiresAtMs: number;
}

export interface MembershipOptions {
  readonly self: string;
  /** Of a member's lease: three times that of the leader. */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly records: OwnRecords;
}

/** A member's lease, in leases of the leader. */
export const MEMBER_LEASES = 3;

const PREFIX = "members/";

export class Membership implements MembershipView {
  readonly #options: MembershipOptions;
  readonly #known = new Map<string, Known>();
  #isLeaving = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { clock, records, ttlMs, self } = options;
    for (const [identity, value] of records.under(PREFIX)) {
      const stored = value as Stored;
      // Of its former life it knows nothing sure; a lease is never longer than a lease.
      const leftMs = Math.min(ttlMs, stored.expiresAtUnix * 1000 - clock.wallMs());
      if (identity !== self) this.#known.set(identity, { stored, expiresAtMs: clock.monotonicMs() + leftMs });
    }
  }

  get leaving(): boolean {
    return this.#isLeaving;
  }

  set leaving(isLeaving: boolean) {
    this.#isLeaving = isLeaving;
  }

  active(): readonly MemberLease[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#known.values()].flatMap(({ stored, expiresAtMs }) =>
      stored.left === true || expiresAtMs <= nowMs ? [] : [stored],
    );
  }

  left(): readonly string[] {
    return [...this.#known.values()].flatMap(({ stored }) => (stored.left === true ? [stored.identity] : []));
  }

  /** Sorted, each once: two identities at one place are one entry. */
  endpoints(): readonly string[] {
    return [...new Set(this.active().map(({ endpoint }) => endpoint))].toSorted();
  }

  /** Begins or renews the lease of this identity; another endpoint takes the place of the one before. */
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
    const expiresAtMs = clock.monotonicMs() + ttlMs;
    await records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, { stored, expiresAtMs });
    return stored;
  }

  /** Ends the lease of this identity. False if it had none. */
  async leave(identity: string): Promise<boolean> {
    const known = this.#known.get(identity);
    if (known === undefined) return false;
    const stored: Stored = { ...known.stored, left: true };
    await this.#options.records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, { ...known, stored });
    return true;
  }
}
