/** Decisions as servers send them to each other, as JSON and back. */
import { InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger, isObject } from "@tenure/core/internal";
import { type Decision, DECISIONS, type HeldDecision } from "../decisions/decision.js";

export interface HeldShape {
  readonly txn_id: string;
  readonly decision: Decision;
  readonly tc_term: number;
  readonly final: boolean;
  readonly done_for_ms: number | null;
}

export function encodeHeld({ txnId, decision, term, isFinal, doneForMs }: HeldDecision): HeldShape {
  return { txn_id: txnId, decision, tc_term: term, final: isFinal, done_for_ms: doneForMs };
}

export function decodeHeld(value: unknown): HeldDecision {
  if (!isObject(value)) throw new InvalidRequestError("decisions", "must be objects");
  const { txn_id: txnId, decision, tc_term: term, final, done_for_ms: doneForMs } = value;
  return {
    txnId: checkId(txnId, "txn_id"),
    decision: decodeDecision(decision),
    term: checkInteger(term, "tc_term", 1, Number.MAX_SAFE_INTEGER),
    isFinal: final === true,
    doneForMs: doneForMs === null ? null : checkInteger(doneForMs, "done_for_ms", 0, Number.MAX_SAFE_INTEGER),
  };
}

export function decodeDecision(value: unknown): Decision {
  const found = DECISIONS.find((each) => each === value);
  if (found === undefined)
    throw new InvalidRequestError("decision", `must be one of ${DECISIONS.join(", ")}`);
  return found;
}
