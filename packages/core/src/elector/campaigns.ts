/**
 * Campaigns: one attempt, or a wait in this server's queue. The life of a waiting campaign is described in
 * `campaign-queue.ts`.
 */
import type { Reading } from "../clock.js";
import type { CampaignResult } from "../elector.js";
import { ClosedError, InvalidTtlError, UnauthorizedError } from "../errors.js";
import { type Observation, policyOf } from "../record.js";
import { type Candidate, type CampaignDecision, decideCampaign } from "../rules/campaign.js";
import { carryOver } from "../rules/carry-over.js";
import { type Change, endTerm, stampOf } from "../rules/terms.js";
import { bestWaiter, decideUpkeep, overtaken } from "../rules/upkeep.js";
import type { Revision } from "../store/store.js";
import type { ClocklessEngine, Step, Written } from "./engine.js";
import type { GroupState } from "./group-state.js";
import { heldBackView, leaderOf, leaderView } from "./views.js";
import type { Waiter } from "./waiter.js";

/** The name of the server in events, where it takes back what a disconnected caller has won. */
const SERVER = "tenure";

const REST = { kind: "stay", value: null } as const;

export class Campaigns {
  readonly #engine: ClocklessEngine;
  readonly #driftRatio: number;
  readonly #random: () => number;
  /** From now on no campaign waits; one that a write in flight names is answered when the outcome is known. */
  closing = false;
  /** Called when a named campaign is queued again, because its wait may have ended meanwhile. */
  onRequeued: (group: GroupState) => void = () => {};

  constructor(engine: ClocklessEngine, driftRatio: number, random: () => number) {
    this.#engine = engine;
    this.#driftRatio = driftRatio;
    this.#random = random;
  }

  /** One attempt; a loss is answered from a fresh record. */
  attempt(group: GroupState, contender: Waiter): Promise<CampaignResult> {
    return this.#contest<never>(group, contender, (lost) => ({ kind: "answer", give: lost }));
  }

  /** One attempt; a loss is not answered, because the campaign then waits. */
  attemptOrWait(group: GroupState, contender: Waiter): Promise<CampaignResult | "wait"> {
    return this.#contest<"wait">(group, contender, () => ({ kind: "stay", value: "wait" }));
  }

  #contest<W>(
    group: GroupState,
    contender: Waiter,
    onLoss: (lost: () => CampaignResult) => Step<CampaignResult | W>,
  ): Promise<CampaignResult | W> {
    const { candidate } = contender;
    return this.#engine.transact<CampaignResult | W>(
      group,
      this.#engine.existing(group, (seen, now): Step<CampaignResult | W> => {
        contender.signal?.throwIfAborted();
        const decision = this.#decide(seen, now, candidate);
        switch (decision.kind) {
          case "elect":
            return this.#firstCome(group, seen, now, contender) ?? this.#win(group, now, contender, decision);
          case "confirm":
            return this.#win(group, now, contender, decision);
          case "expire":
            return { kind: "write", change: decision, written: "decide again" };
          case "lose":
            return onLoss(() => this.#lost(seen, now, decision));
          case "not-allowed":
            return { kind: "answer", give: () => refuseNode(candidate.nodeId, group.groupId) };
          case "invalid-ttl":
            return { kind: "answer", give: () => refuseTtl("ttlMs", candidate.ttlMs, decision) };
        }
      }),
    );
  }

  /** Makes the change `ending`, and grants the best queued campaign in the same write. */
  fill<T>(group: GroupState, now: Reading, ending: Change, written: Written<T>): Step<T> {
    const vacant = { record: ending.next, ageMs: 0 };
    const heir = this.#heir(group, vacant, now, () => bestWaiter(ending.next, group.waiters));
    if (heir === null) return { kind: "write", change: ending, written };
    const change = { next: heir.change.next, events: [...ending.events, ...heir.change.events] };
    return this.#grant(group, now, heir.waiter, change, written);
  }

  /**
   * The next thing to do for a group without a request. It is decided again after each write, until nothing is left to
   * do.
   */
  upkeep(group: GroupState, seen: Observation, now: Reading): Step<null> {
    if (this.closing) return REST;
    // The group was deleted while campaigns waited, and groups must be created first: they are answered
    // GROUP_NOT_FOUND.
    if (!this.#engine.exists(seen.record)) this.#endAllWaits(group);
    const decision = decideUpkeep(seen, group.waiters, stampOf(now));
    if (decision.kind === "rest") return REST;
    if (decision.kind === "write") {
      const makesReady = decision.next.transfer?.ready === true && seen.record.transfer?.ready !== true;
      const landed = () => {
        if (makesReady) group.transferMadeReady();
      };
      return { kind: "write", change: decision, written: "decide again", landed };
    }
    const { waiter } = decision;
    const campaign = this.#decide(seen, now, waiter.candidate);
    switch (campaign.kind) {
      case "elect":
      case "confirm":
        return this.#grant(group, now, waiter, campaign, "decide again");
      case "expire":
        return { kind: "write", change: campaign, written: "decide again" };
      case "lose":
        return REST;
      case "not-allowed":
      case "invalid-ttl":
        // The policy has changed since the campaign arrived: one more attempt answers it with the refusal.
        this.endWait(group, waiter);
        return REST;
    }
  }

  /** Takes the campaign out of the queue, tries once more, and answers. */
  endWait(group: GroupState, waiter: Waiter): void {
    group.dequeue(waiter);
    this.attempt(group, waiter).then(waiter.resolve, waiter.reject);
  }

  /** Answers a queued campaign without another try: this server is closing. */
  async refuse(group: GroupState, waiter: Waiter): Promise<void> {
    try {
      await this.#engine.transact(group, (seen, now) => {
        if (waiter.state === "named") return REST;
        group.dequeue(waiter);
        const decision = this.#decide(seen, now, waiter.candidate);
        const holdBack = decision.kind === "lose" ? decision : { holder: null, heldBack: null, leftMs: null };
        return { kind: "answer", give: () => waiter.resolve(this.#lost(seen, now, holdBack)) };
      });
    } catch (cause) {
      waiter.reject(new ClosedError("the elector is closed", { cause }));
    }
  }

  #decide(seen: Observation, now: Reading, candidate: Candidate): CampaignDecision {
    return decideCampaign(seen, candidate, this.#driftRatio, stampOf(now));
  }

  /**
   * Grants the leadership to a queued campaign by `change`. Until the outcome of that write is known, it is not
   * answered.
   */
  #grant<T>(group: GroupState, now: Reading, waiter: Waiter, change: Change, written: Written<T>): Step<T> {
    group.queue?.name(waiter);
    const elected = electedAt(now, waiter, change);
    return {
      kind: "write",
      change,
      written,
      landed: (revision) => {
        group.dequeue(waiter);
        waiter.resolve(elected);
        if (waiter.gone && !elected.confirmed) this.#takeBack(group, revision);
      },
      dropped: () => {
        group.queue?.unname(waiter);
        if (waiter.gone) {
          // Even if it was written: by now the record may show another grant, whose leader already works.
          group.dequeue(waiter);
        } else if (this.closing) {
          this.endWait(group, waiter);
        }
        this.onRequeued(group);
      },
    };
  }

  #endAllWaits(group: GroupState): void {
    for (const waiter of [...(group.queue ?? [])]) if (waiter.state === "queued") this.endWait(group, waiter);
  }

  /**
   * A disconnected caller has won with `revision`: give the term up again, unless anything has happened since. This is
   * done only for this server's own grant whose revision is known: the same instance may have campaigned elsewhere too,
   * and lead by that.
   */
  #takeBack(group: GroupState, revision: Revision): void {
    const decide = (seen: Observation, now: Reading): Step<null> => {
      const record = carryOver(seen.record, seen.ageMs);
      const { holder } = record;
      if (group.revision !== revision || holder === null) return REST;
      return this.fill(group, now, endTerm(record, holder, "resigned", stampOf(now, SERVER)), () => null);
    };
    this.#engine.transact(group, decide).catch(() => {});
  }

  /** A vacancy that a newcomer meets goes to the best queued campaign that ranks before the newcomer, if there is one. */
  #firstCome(group: GroupState, seen: Observation, now: Reading, contender: Waiter): Step<never> | null {
    const best = () => overtaken(seen, group.waiters, contender, stampOf(now));
    const heir = this.#heir(group, seen, now, best);
    return heir === null ? null : this.#grant(group, now, heir.waiter, heir.change, "decide again");
  }

  /**
   * The queued campaign that `best` finds for a vacancy, with the change that elects it. A campaign that the policy no longer
   * admits is answered, and must not hold up the campaigns behind it.
   */
  #heir(
    group: GroupState,
    vacant: Observation,
    now: Reading,
    best: () => Waiter | null,
  ): { readonly waiter: Waiter; readonly change: Change } | null {
    for (let waiter = best(); waiter !== null; waiter = best()) {
      const decision = this.#decide(vacant, now, waiter.candidate);
      if (decision.kind === "elect") return { waiter, change: decision };
      if (decision.kind !== "not-allowed" && decision.kind !== "invalid-ttl") return null;
      this.endWait(group, waiter);
    }
    return null;
  }

  #win(group: GroupState, now: Reading, contender: Waiter, change: Change): Step<CampaignResult> {
    const elected = electedAt(now, contender, change);
    return {
      kind: "write",
      change,
      written: () => elected,
      landed: (revision) => {
        if (contender.gone && !elected.confirmed) this.#takeBack(group, revision);
      },
    };
  }

  #lost(
    seen: Observation,
    now: Reading,
    { holder, heldBack, leftMs }: Omit<CampaignDecision & { kind: "lose" }, "kind">,
  ): CampaignResult {
    const { initialMs, maxMs, jitter } = policyOf(seen.record).retry;
    const delayMs = Math.min(Math.max(leftMs ?? maxMs, initialMs), maxMs);
    return {
      kind: "lost",
      leader: holder === null ? null : leaderView(seen, now.wallMs),
      ...(heldBack === null ? {} : heldBackView({ heldBack, leftMs })),
      retryAfterMs: Math.max(1, Math.round(delayMs * (1 - jitter * this.#random()))),
    };
  }
}

/**
 * The answer to a winner. Its wait ends at the clock reading at which the win was decided: the server counts the lease
 * from that reading, and the leader counts its deadline from the end of the wait.
 */
function electedAt(
  now: Reading,
  contender: Waiter,
  { next, events }: Change,
): CampaignResult & { kind: "elected" } {
  const reason = events.at(-1)?.reason;
  return {
    kind: "elected",
    leader: leaderOf(next, now.wallMs),
    confirmed: events.length === 0,
    ...(reason === undefined ? {} : { reason }),
    ...(contender.waits ? { waitedMs: Math.floor(now.monotonicMs - contender.arrivedAtMs) } : {}),
    ...(next.transfer?.ready === true ? { transferTo: next.transfer.toNodeId } : {}),
  };
}

function refuseNode(nodeId: string, groupId: string): never {
  throw new UnauthorizedError(`${nodeId} is not among the allowed nodes of ${groupId}`);
}

export function refuseTtl(
  field: string,
  ttlMs: number,
  { minTtlMs, maxTtlMs }: { minTtlMs: number; maxTtlMs: number },
): never {
  throw new InvalidTtlError(field, ttlMs, minTtlMs, maxTtlMs);
}
