/** The coordinator's calls about decisions, over HTTPS; calls to this server itself are made directly. */
import { InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger } from "@tenure/core/internal";
import type { DecisionCalls, Heard, HeldQuestion } from "../decisions/decision-calls.js";
import type { HeldDecision, TxnDecision } from "../decisions/decision.js";
import type { HeldPage, Promised } from "../decisions/decision-log.js";
import type { Applied, ResourceManager } from "../decisions/resource-manager.js";
import { decodeDecision, decodeHeld, encodeHeld } from "./decision-codec.js";
import { type CallAnswer, type PeerCalls, RefusedCallError } from "./peer-calls.js";

export class HttpDecisionCalls implements DecisionCalls {
  readonly #calls: PeerCalls;
  readonly #self: string;
  readonly #own: ResourceManager;
  readonly #cluster: () => string | null;

  /** `cluster`: the cluster of this server. */
  constructor(calls: PeerCalls, selfEndpoint: string, own: ResourceManager, cluster: () => string | null) {
    this.#calls = calls;
    this.#self = selfEndpoint;
    this.#own = own;
    this.#cluster = cluster;
  }

  async prepare(to: string, txnId: string, term: number, signal: AbortSignal): Promise<Heard<Promised>> {
    return this.#promise(to, "prepare", { txn_id: txnId, tc_term: term }, signal);
  }

  async remember(to: string, decision: TxnDecision, signal: AbortSignal): Promise<Heard<Promised>> {
    return this.#promise(to, "remember", encode(decision), signal);
  }

  async held(
    to: string,
    { term, which, after }: HeldQuestion,
    signal: AbortSignal,
  ): Promise<Heard<HeldPage>> {
    const answer = await this.#send(to, "/v1/tc/decisions/held", { tc_term: term, which, after }, signal);
    const stale = staleIn(answer);
    if (stale !== null) return { from: from(answer), value: stale };
    if (answer.status !== 200) throw new RefusedCallError(to, answer);
    const { decisions, next } = answer.body;
    if (!Array.isArray(decisions)) throw new InvalidRequestError("decisions", "must be a list");
    return {
      from: from(answer),
      value: {
        kind: "promised",
        decisions: decisions.map(decodeHeld),
        next: next === null ? null : checkId(next, "next"),
      },
    };
  }

  async tell(
    to: string,
    decisions: readonly HeldDecision[],
    term: number,
    signal: AbortSignal,
  ): Promise<Heard<void>> {
    const body = { tc_term: term, decisions: decisions.map(encodeHeld) };
    const answer = await this.#send(to, "/v1/tc/decisions/tell", body, signal);
    if (answer.status !== 200) throw new RefusedCallError(to, answer);
    return { from: from(answer), value: undefined };
  }

  async apply(to: string, asked: TxnDecision, signal: AbortSignal): Promise<Applied> {
    if (to === this.#self) return this.#own.apply(asked);
    const answer = await this.#send(to, "/v1/rm/apply", encode(asked), signal);
    const { status, body } = answer;
    if (status === 200) return { kind: "applied", changed: body["changed"] === true };
    if (body["error"] === "tc_term_stale") return { kind: "stale", term: Number(body["tc_term"]) };
    if (body["error"] === "txn_conflict")
      return { kind: "conflict", decision: decodeDecision(body["decision"]) };
    throw new RefusedCallError(to, answer);
  }

  async #promise(to: string, verb: string, body: object, signal: AbortSignal): Promise<Heard<Promised>> {
    const answer = await this.#send(to, `/v1/tc/decisions/${verb}`, body, signal);
    const stale = staleIn(answer);
    if (stale !== null) return { from: from(answer), value: stale };
    if (answer.status !== 200) throw new RefusedCallError(to, answer);
    const { held } = answer.body;
    return {
      from: from(answer),
      value: { kind: "promised", held: held === null ? null : decodeHeld(held) },
    };
  }

  #send(to: string, path: string, fields: object, signal: AbortSignal): Promise<CallAnswer> {
    const body = { cluster: this.#cluster(), ...fields };
    return this.#calls.send(to, { method: "POST", path, body, signal });
  }
}

function staleIn({ status, body }: CallAnswer): { readonly kind: "stale"; readonly term: number } | null {
  if (status !== 409 || body["error"] !== "tc_term_stale") return null;
  return { kind: "stale", term: checkInteger(body["tc_term"], "tc_term", 1, Number.MAX_SAFE_INTEGER) };
}

function encode({ txnId, decision, term }: TxnDecision): object {
  return { txn_id: txnId, decision, tc_term: term };
}

function from({ identity, body }: CallAnswer): Heard<unknown>["from"] {
  return { identity, disk: String(body["disk"]) };
}
