/** The coordinator's calls about decisions, over HTTPS; to this server itself without it. */
import { checkInteger, InvalidRequestError, isObject } from "@tenure/core";
import type { DecisionCalls, Heard } from "../decisions/decider.js";
import { type Decision, DECISIONS, type Remembered, type TxnDecision } from "../decisions/decision.js";
import type { Promised } from "../decisions/decision-log.js";
import type { Applied, ResourceManager } from "../decisions/resource-manager.js";
import { type CallAnswer, type PeerCalls, RefusedCallError } from "./peer-calls.js";

export class HttpDecisionCalls implements DecisionCalls {
  readonly #calls: PeerCalls;
  readonly #self: string;
  readonly #own: ResourceManager;

  constructor(calls: PeerCalls, selfEndpoint: string, own: ResourceManager) {
    this.#calls = calls;
    this.#self = selfEndpoint;
    this.#own = own;
  }

  async prepare(to: string, txnId: string, term: number, signal: AbortSignal): Promise<Heard<Promised>> {
    return this.#promise(to, "prepare", { txn_id: txnId, tc_term: term }, signal);
  }

  async remember(to: string, decision: TxnDecision, signal: AbortSignal): Promise<Heard<Promised>> {
    return this.#promise(to, "remember", encode(decision), signal);
  }

  async open(to: string, signal: AbortSignal): Promise<Heard<readonly TxnDecision[]>> {
    const answer = await this.#calls.send(to, { method: "GET", path: "/v1/tc/decisions", signal });
    if (answer.status !== 200) throw new RefusedCallError(to, answer);
    const { decisions } = answer.body;
    if (!Array.isArray(decisions)) throw new InvalidRequestError("decisions", "must be a list");
    const value = decisions.map((each) => ({
      txnId: String((each as { txn_id?: unknown }).txn_id),
      ...remembered(each),
    }));
    return { from: from(answer), value };
  }

  async done(to: string, { txnId, decision }: TxnDecision, signal: AbortSignal): Promise<void> {
    const body = { txn_id: txnId, decision };
    await this.#calls.ask(to, { method: "POST", path: "/v1/tc/decisions/done", body, signal });
  }

  async apply(to: string, asked: TxnDecision, signal: AbortSignal): Promise<Applied> {
    if (to === this.#self) return this.#own.apply(asked);
    const answer = await this.#calls.send(to, {
      method: "POST",
      path: "/v1/rm/apply",
      body: encode(asked),
      signal,
    });
    const { status, body } = answer;
    if (status === 200) return { kind: "applied", changed: body["changed"] === true };
    if (body["error"] === "tc_term_stale") return { kind: "stale", term: Number(body["tc_term"]) };
    if (body["error"] === "txn_conflict") return { kind: "conflict", decision: decisionIn(body["decision"]) };
    throw new RefusedCallError(to, answer);
  }

  async #promise(to: string, verb: string, body: object, signal: AbortSignal): Promise<Heard<Promised>> {
    const answer = await this.#calls.send(to, {
      method: "POST",
      path: `/v1/tc/decisions/${verb}`,
      body,
      signal,
    });
    const told = answer.body;
    if (answer.status === 409 && told["error"] === "tc_term_stale") {
      const term = checkInteger(told["tc_term"], "tc_term", 1, Number.MAX_SAFE_INTEGER);
      return { from: from(answer), value: { kind: "stale", term } };
    }
    if (answer.status !== 200) throw new RefusedCallError(to, answer);
    const known = told["remembered"] === null ? null : remembered(told["remembered"]);
    return { from: from(answer), value: { kind: "promised", remembered: known } };
  }
}

function encode({ txnId, decision, term }: TxnDecision): object {
  return { txn_id: txnId, decision, tc_term: term };
}

function from({ identity, body }: CallAnswer): Heard<unknown>["from"] {
  return { identity, disk: String(body["disk"]) };
}

function remembered(value: unknown): Remembered {
  if (!isObject(value)) throw new InvalidRequestError("remembered", "must be an object");
  const term = checkInteger(value["tc_term"], "tc_term", 0, Number.MAX_SAFE_INTEGER);
  return { decision: decisionIn(value["decision"]), term };
}

function decisionIn(value: unknown): Decision {
  const found = DECISIONS.find((each) => each === value);
  if (found === undefined)
    throw new InvalidRequestError("decision", `must be one of ${DECISIONS.join(", ")}`);
  return found;
}
