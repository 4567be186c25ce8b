/**
 * Who is there, as this server was told by each itself: leases by identity, kept in its own store. Nobody's lease is
 * touched but at the wish of its owner; whoever falls silent expires.
 */
import { type Clock, sendMoment, type SendMoment } from "@tenure/core";
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
  /** When it announced itself; after a restart, the start. */
  readonly since: SendMoment;
}

export interface MembershipOptions {
  readonly self: string;
  /** Of a member's lease: three times that of the leader. */
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
      // How long this server was away, no clock tells that it trusts: so it errs towards waiting.
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
    return [...this.#known.values()].flatMap(({ stored, since }) =>
      stored.left === true || this.#isOver(since) ? [] : [stored],
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
    const since = sendMoment(clock);
    await records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, { stored, since });
    return stored;
  }

  /** Ends the lease of this identity. It is remembered also if it had none here: it may be of the electorate. */
  async leave(identity: string): Promise<void> {
    const nobody = { identity, endpoint: "", disk: "", updatedAtUnix: 0, expiresAtUnix: 0 };
    const { clock, records } = this.#options;
    const stored: Stored = { ...(this.#known.get(identity)?.stored ?? nobody), left: true };
    await records.put({ [PREFIX + identity]: stored });
    this.#known.set(identity, { stored, since: sendMoment(clock) });
  }

  #isOver(since: SendMoment): boolean {
    const { clock, ttlMs } = this.#options;
    const now = sendMoment(clock);
    return (
      Math.max(now.monotonicMs - since.monotonicMs, now.bootMs - since.bootMs - clock.bootTickMs) >= ttlMs
    );
  }
}
