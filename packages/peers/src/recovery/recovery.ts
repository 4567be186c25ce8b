/**
 * Recovery from a lost majority: the operator confirms that electors are gone for good, and this server becomes the
 * only elector, from which the electorate grows again by ordinary steps.
 *
 * The invariant: **at most one recovery of an electorate succeeds, and everything that the electorate could have
 * decided, as far as any survivor knows, is held by the new electorate before that one counts.**
 *
 * - A recovery is an election in which every survivor, not a majority, must grant: each elector that the operator does
 *   not declare lost, including this server. Two recoveries share every survivor, a voter grants one term once, and
 *   this server's own voter stores the new electorate in the term that it holds, in one decision. Once it is stored,
 *   this server refuses every caller that names the old epoch. So of two recoveries at a time one fails.
 * - The term, and with it the epoch, is far above every term that a survivor knows (`TERM_MARGIN`), so it is above what
 *   the lost electors can have reached unseen. Electors that return find the higher epoch at any survivor, adopt it,
 *   are not electors by it, and cannot form the old electorate again.
 * - Survivors promise to obey no lower term before they show what they remember of decisions. All of it is taken; what
 *   is not final is taken as the highest term has it, because it may have become final with the help of lost electors.
 *
 * What no server can check is the operator's statement. If a majority of the old electorate still runs, cut off from
 * every survivor, it elects its own leader. So a recovery is refused while a lost elector answers or has announced
 * itself within a member's lease, or while any peer holds a lease. What only lost electors remembered is lost.
 */
import type { Clock } from "@tenure/core";
import { within } from "@tenure/core/internal";
import type { DecisionCalls, Heard, HeldQuestion } from "../decisions/decision-calls.js";
import type { HeldDecision } from "../decisions/decision.js";
import type { DecisionLog, HeldPage } from "../decisions/decision-log.js";
import { compareEpochs, isMajority, speaksFor } from "../protocol/configuration.js";
import type {
  Configuration,
  ConfiguredMember,
  MembershipView,
  PeerAnswers,
  PeerState,
  PeerTransport,
} from "../protocol/messages.js";

export interface RecoveryParts {
  readonly self: { readonly identity: string; readonly endpoint: string; readonly disk: string };
  readonly ttlMs: number;
  readonly clock: Clock;
  /** This server's own voter. */
  readonly voter: PeerAnswers;
  readonly transport: PeerTransport;
  readonly membership: Pick<MembershipView, "active">;
  readonly log: DecisionLog;
  readonly calls: Pick<DecisionCalls, "held">;
  /** Resolves to what answers at this endpoint; `null` if nothing does. */
  readonly probe: (endpoint: string, signal: AbortSignal) => Promise<string | null>;
}

export interface RecoveryPlan {
  readonly before: Configuration;
  /** The electorate that consists of this server only. */
  readonly after: Configuration;
  readonly lost: readonly string[];
  /** Including this server. */
  readonly survivors: readonly string[];
}

/** For people: what is wrong, and what to do. Nothing was changed. */
export class RecoveryRefusedError extends Error {}

/** How far the term of a recovery is above every term that a survivor knows. */
export const TERM_MARGIN: number = 2 ** 20;

type Survivor = readonly [identity: string, member: ConfiguredMember];

export class Recovery {
  readonly #parts: RecoveryParts;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** What a recovery would do. Rejects with `RecoveryRefusedError` if it is not allowed. Changes nothing. */
  async plan(lost: readonly string[]): Promise<RecoveryPlan> {
    const { self, voter } = this.#parts;
    const own = voter.state();
    const { config } = own;
    if (config === null) throw refused("this server belongs to no cluster; there is nothing to recover");
    if (!speaksFor(config.members, own)) {
      throw refused(`this server is no elector of [${epochOf(config)}]; ask one of ${named(config)}`);
    }
    const unknown = lost.find((each) => !Object.hasOwn(config.members, each));
    if (unknown !== undefined) throw refused(`${unknown} is no elector; electors are ${named(config)}`);
    if (lost.includes(self.identity)) throw refused("this server answers, so it is not lost");
    const isLost = (identity: string): boolean => lost.includes(identity);
    if (isMajority(config.members, (identity) => !isLost(identity))) {
      throw refused(
        "the electors that are not lost are a majority: start them, and they elect by themselves",
      );
    }
    const members = Object.entries(config.members);
    await this.#checkLost(members.filter(([identity]) => isLost(identity)));
    const survivors = members.filter(([identity]) => !isLost(identity));
    const states = [own, ...(await this.#survivorStates(config, survivors))];
    const term = Math.max(config.epoch.term, ...states.map((state) => state.term)) + TERM_MARGIN;
    return {
      before: config,
      after: {
        cluster: config.cluster,
        epoch: { term, n: 0 },
        members: { [self.identity]: { endpoint: self.endpoint, disk: self.disk } },
      },
      lost: lost.toSorted(),
      survivors: survivors.map(([identity]) => identity).toSorted(),
    };
  }

  /** Carries the plan out. If it rejects, the old electorate stands. */
  async carryOut({ before, after, survivors }: RecoveryPlan): Promise<void> {
    const { self, ttlMs, voter, transport } = this.#parts;
    const { term } = after.epoch;
    const others = Object.entries(before.members).filter(
      ([identity]) => survivors.includes(identity) && identity !== self.identity,
    );
    const request = { term, ttlMs, cluster: before.cluster, epoch: before.epoch };
    const candidate = { ...request, candidateId: self.identity, candidateEndpoint: self.endpoint };
    const leader = { leaderId: self.identity, leaderEndpoint: self.endpoint, term, ttlMs, config: after };
    const own = await voter.acquire(candidate);
    if (!own.granted) throw refused(`this server's own vote was refused (${own.refusal}); retry later`);
    try {
      for (const survivor of others) await this.#granted(survivor, candidate);
      await this.#takeDecisions(others, term);
      const stored = await voter.renew(leader);
      if (!stored.granted) throw refused(`another recovery was faster (${stored.refusal})`);
    } catch (error) {
      // The peers that granted it are free at once.
      const release = { leaderId: self.identity, term };
      await voter.release(release);
      for (const [, { endpoint }] of others) {
        await this.#within((signal) => transport.release(endpoint, release, { signal })).catch(() => {});
      }
      throw error;
    }
    // Best effort: the others adopt the electorate when they next ask the other peers.
    for (const [, { endpoint }] of others) {
      await this.#within((signal) => transport.renew(endpoint, leader, { signal })).catch(() => {});
    }
  }

  async #checkLost(lost: readonly Survivor[]): Promise<void> {
    const { membership, probe } = this.#parts;
    const active = new Set(membership.active().map(({ identity }) => identity));
    for (const [identity, { endpoint }] of lost) {
      if (active.has(identity)) {
        throw refused(
          `${identity} announced itself less than a member's lease ago; stop it, and wait for three leases`,
        );
      }
      const answer = await this.#within((signal) => probe(endpoint, signal)).catch(() => null);
      if (answer !== null) throw refused(`${identity} at ${endpoint} is not lost: ${answer}`);
    }
  }

  async #survivorStates(
    config: Configuration,
    survivors: readonly Survivor[],
  ): Promise<readonly PeerState[]> {
    const { self, transport } = this.#parts;
    const others = survivors.filter(([identity]) => identity !== self.identity);
    const states: PeerState[] = [];
    for (const [identity, { endpoint }] of others) {
      const state = await this.#within((signal) => transport.state(endpoint, { signal })).catch(
        (cause: unknown) => {
          const why = cause instanceof Error ? cause.message : String(cause);
          throw refused(`${identity} at ${endpoint} does not answer (${why}): start it, or call it lost too`);
        },
      );
      checkSurvivor(config, identity, state);
      states.push(state);
    }
    const held = [this.#parts.voter.state(), ...states].find(({ lease }) => lease !== null)?.lease;
    if (held !== undefined && held !== null) {
      throw refused(`${held.leaderId} holds a lease of term ${held.term}; retry when it has ended`);
    }
    return states;
  }

  async #granted(
    [identity, { endpoint }]: Survivor,
    candidate: Parameters<PeerTransport["acquire"]>[1],
  ): Promise<void> {
    const verdict = await this.#within((signal) =>
      this.#parts.transport.acquire(endpoint, candidate, { signal }),
    );
    if (!verdict.granted)
      throw refused(`${identity} did not grant the recovery (${verdict.refusal}); retry later`);
    if (verdict.state.identity !== identity)
      throw refused(`${endpoint} is ${verdict.state.identity}, not ${identity}`);
  }

  /** Everything that survivors remember: what is final, and what may have become final through electors that are lost. */
  async #takeDecisions(others: readonly Survivor[], term: number): Promise<void> {
    const { log, calls } = this.#parts;
    const found: HeldDecision[] = [...log.all()];
    if ((await log.page(term, "open", "")).kind === "stale") throw refused("a newer coordinator exists");
    for (const [identity, { endpoint }] of others) {
      for (let after: string | null = ""; after !== null;) {
        const asked: HeldQuestion = { term, which: "all", after };
        const { value }: Heard<HeldPage> = await this.#within((signal) =>
          calls.held(endpoint, asked, signal),
        );
        if (value.kind === "stale")
          throw refused(`${identity} obeys a newer coordinator, of term ${value.term}`);
        found.push(...value.decisions);
        after = value.next;
      }
    }
    await log.take(found.filter(({ isFinal }) => isFinal));
    const open = found.filter(({ isFinal }) => !isFinal).toSorted((a, b) => a.term - b.term);
    for (const { txnId, decision } of open) await log.remember({ txnId, decision, term });
  }

  #within<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return within(this.#parts.clock, { limitMs: this.#parts.ttlMs }, work);
  }
}

function checkSurvivor(config: Configuration, identity: string, state: PeerState): void {
  const known = state.config;
  if (state.identity !== identity || !speaksFor(config.members, state)) {
    throw refused(`${identity} runs over another disk than the electorate's: call it lost`);
  }
  if (known === null || known.cluster !== config.cluster) throw refused(`${identity} is of another cluster`);
  if (compareEpochs(known.epoch, config.epoch) > 0) {
    throw refused(
      `${identity} knows a newer electorate, [${epochOf(known)}]; retry, or send the request to ${identity}`,
    );
  }
}

function epochOf({ epoch }: Configuration): string {
  return `${epoch.term}, ${epoch.n}`;
}

function named({ members }: Configuration): string {
  return Object.keys(members).toSorted().join(", ");
}

function refused(message: string): RecoveryRefusedError {
  return new RecoveryRefusedError(message);
}
