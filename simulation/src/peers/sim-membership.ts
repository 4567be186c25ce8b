import type { Clock } from "@tenure/core";
import type { ActiveMember, MembershipView } from "@tenure/peers/protocol";

interface Entry extends ActiveMember {
  readonly untilMs: number;
}

/** The active membership as one node has heard of it. `dream` replaces it by whatever a schedule wants it to believe. */
export class SimMembership implements MembershipView {
  leaving = false;
  dream: { readonly active: readonly ActiveMember[]; readonly left: readonly string[] } | null = null;
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #left = new Set<string>();

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  active(): readonly ActiveMember[] {
    if (this.dream !== null) return this.dream.active;
    const nowMs = this.#clock.bootMs();
    for (const [identity, { untilMs }] of this.#entries) {
      if (untilMs <= nowMs) this.#entries.delete(identity);
    }
    return [...this.#entries.values()].map(({ identity, endpoint, disk }) => ({ identity, endpoint, disk }));
  }

  left(): readonly string[] {
    return this.dream !== null ? this.dream.left : [...this.#left];
  }

  announced(member: ActiveMember): void {
    this.#left.delete(member.identity);
    this.#entries.set(member.identity, { ...member, untilMs: this.#clock.bootMs() + this.#ttlMs });
  }

  hasLeft(identity: string): void {
    this.#entries.delete(identity);
    this.#left.add(identity);
  }
}
