import type { ActiveMember, MembershipView } from "@tenure/peers/protocol";

/** What a schedule makes a node believe of the membership. */
export interface Dream {
  readonly active: readonly ActiveMember[];
  readonly left: readonly string[];
}

/** The membership as the protocol sees it: the node's own, unless a schedule wants it to believe something else. */
export class SimMembership implements MembershipView {
  readonly #own: MembershipView | null;
  #dream: Dream | null = null;
  /** What it did may follow from a dream that is over. */
  hasDreamt = false;

  /** Without one of its own it is a puppet's, which knows what the script says. */
  constructor(own: MembershipView | null) {
    this.#own = own;
  }

  get dream(): Dream | null {
    return this.#dream;
  }

  set dream(dream: Dream | null) {
    this.#dream = dream;
    this.hasDreamt = true;
  }

  get leaving(): boolean {
    return this.#own?.leaving === true;
  }

  active(): readonly ActiveMember[] {
    return this.dream?.active ?? this.#own?.active() ?? [];
  }

  left(): readonly string[] {
    return this.dream?.left ?? this.#own?.left() ?? [];
  }
}
