import type { LeadershipEvent, ResignRequest } from "@tenure/core";
import type { ElectionRecord } from "@tenure/core/internal";
import type { RecordWrite } from "../truth.js";
import { type Answer, type Check, type CheckContext, type Lead, leftMs } from "./check.js";

interface Term {
  /** Before this true time no server may declare its lease expired: each grant lasts its ttl. */
  leasedUntilMs: number;
  expiredAtMs: number | null;
  lead: Lead | null;
  resignSent: boolean;
}

/**
 * S6: a term ends as `expired` only when its lease is truly over and its leader no longer inside its deadline, as
 * `resigned` or `transferred` only if its holder (or the server, for a disconnected holder) resigned it, and as
 * `deposed` if it was deposed. The next election gives the same reason.
 */
export class TrueReasons implements Check {
  readonly #context: CheckContext;
  readonly #terms = new Map<string, Term>();
  /** Per group, how the last term ended. */
  readonly #lost = new Map<string, LeadershipEvent>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: RecordWrite): void {
    const { groupId, previous, atMs } = write;
    const before = previous?.record;
    for (const event of write.events) {
      if (event.type !== "LEADER_LOST") {
        this.#checkElection(groupId, event);
        continue;
      }
      this.#lost.set(groupId, event);
      this.#checkMark(event, before);
      const term = this.#term(groupId, before?.term ?? event.term);
      if (event.reason === "expired") {
        term.expiredAtMs = atMs;
        this.#checkExpiry(term, event.term);
      } else if (event.reason !== "deposed" && !term.resignSent && event.by === undefined) {
        this.#context.fail("S6", `term ${event.term} ends as ${event.reason}, and it was not resigned`);
      }
    }
  }

  /** A grant lasts its ttl from when it was decided: not before the request came, nor before the end of the wait. */
  onAnswer({ request, result, arrivedMs }: Answer): void {
    if (result.kind !== "renewed" && result.kind !== "elected") return;
    const { ttlMs } = request as { readonly ttlMs: number };
    const waitedMs = result.kind === "elected" ? (result.waitedMs ?? 0) : 0;
    const decidedMs = arrivedMs + waitedMs / (1 + this.#context.driftRatio);
    this.#lease(request.groupId, result.leader.term, decidedMs + ttlMs);
  }

  onLead(lead: Lead): void {
    this.#term(lead.groupId, lead.led.term).lead = lead;
  }

  onResignSent({ groupId, term }: ResignRequest): void {
    this.#term(groupId, term).resignSent = true;
  }

  #lease(groupId: string, number: number, untilMs: number): void {
    const term = this.#term(groupId, number);
    term.leasedUntilMs = Math.max(term.leasedUntilMs, untilMs);
    if (term.expiredAtMs !== null) this.#checkExpiry(term, number);
  }

  #checkExpiry(term: Term, number: number): void {
    const earlyMs = term.leasedUntilMs - (term.expiredAtMs ?? 0);
    if (earlyMs > 1e-3)
      this.#context.fail("S6", `term ${number} expires ${earlyMs.toFixed(3)} ms before its lease is over`);
    const { lead } = term;
    if (lead === null || lead.process.clock.isKilled || term.expiredAtMs !== this.#context.nowMs()) return;
    if (leftMs(lead) > 0) {
      this.#context.fail(
        "S6",
        `term ${number} expires while ${lead.process.name} may lead ${leftMs(lead).toFixed(1)} ms more`,
      );
    }
  }

  /**
   * A deposed leader has lost its term by that, even if it resigned. A term is transferred only to a successor that
   * waits.
   */
  #checkMark({ reason, term }: LeadershipEvent, before: ElectionRecord | undefined): void {
    const isDeposed = (before?.deposed ?? null) !== null;
    const isTransferred = reason === "transferred" && before?.transfer?.ready !== true;
    if ((isDeposed && reason !== "deposed") || isTransferred)
      this.#context.fail("S6", `term ${term} ends as ${reason}, which the record before does not say`);
  }

  /** The election of the next leader says how the last term ended, and whose it was. */
  #checkElection(groupId: string, { term, reason, previousLeaderNodeId }: LeadershipEvent): void {
    const lost = this.#lost.get(groupId);
    if (reason === (lost?.reason ?? "none") && previousLeaderNodeId === (lost?.previousLeaderNodeId ?? null))
      return;
    this.#context.fail(
      "S6",
      `term ${term} begins after ${previousLeaderNodeId ?? "nobody"} (${reason}), and the last one ended ` +
        `with ${lost?.previousLeaderNodeId ?? "nobody"} (${lost?.reason ?? "none"})`,
    );
  }

  #term(groupId: string, number: number): Term {
    const key = `${groupId} ${number}`;
    let term = this.#terms.get(key);
    if (term === undefined) {
      term = { leasedUntilMs: 0, expiredAtMs: null, lead: null, resignSent: false };
      this.#terms.set(key, term);
    }
    return term;
  }
}
