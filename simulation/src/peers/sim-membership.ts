import type { ActiveMember, MembershipView } from "@tenure/peers/protocol";

/** What a schedule makes a node believe of the membership. */
export interface Dream {
  readonly active: readonly ActiveMember[];
  readonly left: readonly string[];
  /** It takes itself for leaving. */
  readonly leaving?: boolean;
}

/** The membership as the protocol sees it: the node's own, unless a schedule wants it to believe something else. */
export class SimMembership implements MembershipView {
  readonly #own: MembershipView | null;
  dream: Dream | null = null;

  /** Without one of its own it is a puppet's, which knows what the scenario says. */
  constructor(own: MembershipView | null) {
    this.#own = own;
  }

  get leaving(): boolean {
    return this.dream?.leaving ?? this.#own?.leaving === true;
  }

  active(): readonly ActiveMember[] {
    return this.dream?.active ?? this.#own?.active() ?? [];
  }

  left(): readonly string[] {
    return this.dream?.left ?? this.#own?.left() ?? [];
  }
}
