/**
 * What a winner knows of its term: the electorate that counts, the open step, and which round gave the deadline. Pure:
 * rounds and answers go in, instructions come out. It begins with the step that every winner must take first (the same
 * members under epoch [term, 0]) and leads once that is done.
 *
 * A step is done when a majority of the old and a majority of the new members have stored it, the leader itself last.
 * Until then the old members count for the lease, afterwards the new ones. The next step is sent only after a round of
 * the new members has moved the deadline: a lease earned from an electorate that no longer counts would be invisible to
 * the next voters.
 */
import type { SendMoment } from "@tenure/core";
import { compareEpochs, isMajority, memberOf, type Members, speaksFor } from "./configuration.js";
import { MEMBER_LEASES, nextMembers, type Wishes } from "./electorate.js";
import type { ActiveMember, Configuration, LeaseVerdict } from "./messages.js";
import type { HeldBack } from "./peer-status.js";

/** One renewal, sent to all at once. Answers are matched to it. */
export interface Round {
  readonly number: number;
  readonly sent: SendMoment;
  /** What it carries: the open step, or the electorate that counts. */
  readonly config: Configuration;
  /** The servers that granted it, and the endpoint that was asked. */
  readonly granted: Map<string, ActiveMember>;
}

interface Step {
  readonly config: Configuration;
  readonly sinceMs: number;
  readonly storedBy: Set<string>;
}

/** How the leader wants to change its electorate, and why a step must wait, if it must. */
export interface StepWishes extends Omit<Wishes, "reached" | "heard"> {
  readonly holdStep: (config: Configuration) => string | null;
}

/** Why a change of the electorate that is due is not made yet. */
export type Hold = Omit<HeldBack, "forMs">;

export type Outcome =
  /** `earned`: the deadline moves to this round's. `store`: all others have stored it; write it, then call `stored`. */
  | { readonly kind: "on"; readonly earned: boolean; readonly store: Configuration | null }
  | { readonly kind: "superseded"; readonly config: Configuration };

export class TermState {
  readonly term: number;
  readonly #leaderId: string;
  readonly #ttlMs: number;
  /** When this term began; no server has been silent in it for longer. */
  readonly #beganMs: number;
  /** By voter: when the latest round that it granted was sent. */
  readonly #grantedMs = new Map<string, number>();
  #config: Configuration;
  #open: Step | null;
  #isStoring = false;
  #isLeading = false;
  /** The deadline was earned from the members that count now. */
  #isEarned = true;
  #earnedBy = 0;
  #latest: Round | null = null;
  #rounds = 0;
  #n = 0;
  #hold: Hold | null = null;

  /** `config` is the electorate that elected it. */
  constructor(term: number, leaderId: string, ttlMs: number, config: Configuration, nowMs: number) {
    this.term = term;
    this.#leaderId = leaderId;
    this.#ttlMs = ttlMs;
    this.#beganMs = nowMs;
    this.#config = config;
    this.#open = this.#step(config.members, 0, nowMs);
  }

  /** The electorate that counts for the lease. */
  get config(): Configuration {
    return this.#config;
  }

  /** The first step is done. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** The electors, including the leader, that have not been silent towards the leader for a member's lease. */
  heard(nowMs: number): ReadonlySet<string> {
    const members = Object.entries(this.#config.members);
    return new Set(
      members.flatMap(([identity, { disk }]) => {
        const grantedMs = this.#grantedMs.get(voterKey(identity, disk)) ?? this.#beganMs;
        return nowMs - grantedMs < MEMBER_LEASES * this.#ttlMs ? [identity] : [];
      }),
    );
  }

  /**
   * Whether an elector that left waits to be removed, and the next round would help: with the step itself, or by
   * earning the deadline that the step needs. Such a round is sent at once, because the elector waits to stop.
   */
  isRemovalDue({ left, holdStep }: StepWishes, isNewlyStored: boolean): boolean {
    if (this.#open !== null || !this.#isLeading) return false;
    const isDue = left.some(
      (identity) => identity !== this.#leaderId && memberOf(this.#config.members, identity) !== undefined,
    );
    if (!isDue) return false;
    return this.#isEarned ? holdStep(this.#config) === null : isNewlyStored;
  }

  /** Why the electorate did not change at the latest round although it should; `null` where no change is due. */
  get hold(): Hold | null {
    return this.#hold;
  }

  /** The next round; with it a step that is due, or the withdrawal of one that took too long. */
  round(sent: SendMoment, wishes: StepWishes): Round {
    const nowMs = sent.monotonicMs;
    this.#hold = this.#open === null ? null : this.#notStored(this.#open);
    if (this.#open === null) this.#open = this.#nextStep(wishes, nowMs);
    else if (this.#isLeading && !this.#isStoring && nowMs - this.#open.sinceMs >= this.#ttlMs) {
      this.#open = this.#step(this.#config.members, this.#n + 1, nowMs);
    }
    const config = this.#open?.config ?? this.#config;
    this.#latest = { number: ++this.#rounds, sent, config, granted: new Map() };
    return this.#latest;
  }

  /** Processes one answer; the leader's own vote is one of them. */
  answer(round: Round, askedAt: string, { granted, state }: LeaseVerdict): Outcome {
    const { config } = state;
    const isOurs = config !== null && config.cluster === this.#config.cluster;
    if (isOurs && config.epoch.term > this.term) return { kind: "superseded", config };
    if (!granted) return { kind: "on", earned: false, store: null };
    const { identity, disk } = state;
    round.granted.set(identity, { identity, endpoint: askedAt, disk });
    const before = this.#grantedMs.get(voterKey(identity, disk)) ?? Number.NEGATIVE_INFINITY;
    this.#grantedMs.set(voterKey(identity, disk), Math.max(before, round.sent.monotonicMs));
    const step = this.#open;
    if (step !== null && isOurs && compareEpochs(config.epoch, step.config.epoch) === 0) {
      if (speaksFor({ ...this.#config.members, ...step.config.members }, state))
        step.storedBy.add(state.identity);
    }
    return { kind: "on", earned: this.#isNewlyEarned(round), store: this.#toStore() };
  }

  /** The leader's own copy is written: the step is done. */
  stored(config: Configuration): void {
    this.#config = config;
    this.#open = null;
    this.#isStoring = false;
    this.#isLeading = true;
    this.#isEarned = false;
  }

  #isNewlyEarned(round: Round): boolean {
    if (round.number <= this.#earnedBy) return false;
    const { members } = this.#config;
    if (
      !isMajority(
        members,
        (identity) => round.granted.get(identity)?.disk === memberOf(members, identity)?.disk,
      )
    ) {
      return false;
    }
    this.#earnedBy = round.number;
    this.#isEarned = true;
    return true;
  }

  #toStore(): Configuration | null {
    const step = this.#open;
    if (step === null || this.#isStoring) return null;
    const hasStored = (identity: string): boolean =>
      identity === this.#leaderId || step.storedBy.has(identity);
    if (!isMajority(this.#config.members, hasStored)) return null;
    if (!isMajority(step.config.members, hasStored)) return null;
    this.#isStoring = true;
    return step.config;
  }

  #nextStep(wishes: StepWishes, nowMs: number): Step | null {
    if (this.#latest === null) return null;
    const members = nextMembers(this.#config, this.#leaderId, {
      ...wishes,
      reached: this.#latest.granted,
      heard: this.heard(nowMs),
    });
    this.#hold = members === null ? (contested(wishes) ?? this.#notReached(wishes)) : this.#whyHeld(wishes);
    if (members === null || this.#hold !== null) return null;
    return this.#step(members, this.#n + 1, nowMs);
  }

  #whyHeld({ holdStep }: StepWishes): Hold | null {
    if (!this.#isEarned) {
      const detail = "no round has been granted by a majority of the electorate since its last change";
      return { reason: "not-earned", detail };
    }
    const detail = holdStep(this.#config);
    return detail === null ? null : { reason: "held", detail };
  }

  #notStored({ config, storedBy }: Step): Hold {
    const voters = Object.keys({ ...this.#config.members, ...config.members }).toSorted();
    const missing = voters.filter((identity) => identity !== this.#leaderId && !storedBy.has(identity));
    const { term, n } = config.epoch;
    const by = missing.length === 0 ? "this server's own disk" : missing.join(", ");
    return { reason: "not-stored", detail: `electorate [${term}, ${n}] is not yet stored by ${by}` };
  }

  #notReached({ active, left }: StepWishes): Hold | null {
    const away = active.filter(
      ({ identity }) => memberOf(this.#config.members, identity) === undefined && !left.includes(identity),
    );
    if (away.length === 0) return null;
    const named = away.map(({ identity, endpoint }) => `${identity} (${endpoint})`).toSorted();
    return {
      reason: "not-reached",
      detail: `${named.join(", ")} announced, and did not grant the latest round at that endpoint`,
    };
  }

  #step(members: Members, n: number, nowMs: number): Step {
    this.#n = n;
    const config = { cluster: this.#config.cluster, epoch: { term: this.term, n }, members };
    return { config, sinceMs: nowMs, storedBy: new Set() };
  }
}

function contested({ active }: StepWishes): Hold | null {
  const names = active.flatMap((each) => (each.contested === true ? [each.identity] : []));
  if (names.length === 0) return null;
  return {
    reason: "contested",
    detail: `two servers announce themselves as ${names.join(", ")}: each server needs a bundle of its own`,
  };
}

/** A voter is an identity with its disk. */
function voterKey(identity: string, disk: string): string {
  return `${identity} ${disk}`;
}
