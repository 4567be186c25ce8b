/**
 * Whether a request passes, whatever the framework. The resource says which group guards it, never the request: a leader
 * of another group must not pass by naming its own.
 *
 * Without mandates a term is taken at its word. That is enough against a leader that was replaced and does not know it,
 * and not against a stranger, who could shut out every leader with a term that is too high.
 */
import type { IncomingHttpHeaders } from "node:http";
import { InvalidRequestError } from "@tenure/core";
import { checkId, checkKeys } from "@tenure/core/internal";
import { FenceError, StaleTermError } from "../errors.js";
import { TermGate } from "../gate/term-gate.js";
import { MandateVerifier } from "../mandates/mandate-verifier.js";
import { FENCE_HEADERS, HeaderProblem, needHeader, readHeader, termOf } from "./headers.js";

export interface HttpFenceOptions<Request> {
  readonly gate: TermGate;
  /** The group that guards the resource, or which one guards what this request is for. */
  readonly groupId: string | ((request: Request) => string);
  /** If given, every request must carry a mandate, and its term counts. @defaultValue none: the term of a header counts */
  readonly mandates?: MandateVerifier | undefined;
}

export interface AdmittedRequest {
  readonly groupId: string;
  readonly term: number;
  /** Where a mandate has named it. */
  readonly nodeId?: string;
}

export interface Refusal {
  readonly status: 400 | 401 | 409 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly ok: false; readonly error: string; readonly message: string } & Readonly<
    Record<string, unknown>
  >;
}

export type Verdict =
  | { readonly kind: "admitted"; readonly admitted: AdmittedRequest }
  | { readonly kind: "refused"; readonly refusal: Refusal };

const admissions = new WeakMap<object, AdmittedRequest>();

/** In which term a request was admitted; `undefined` for one that has not passed a fence. */
export function admissionOf(request: object): AdmittedRequest | undefined {
  return admissions.get(request);
}

export class HttpFence<Request extends { readonly headers: IncomingHttpHeaders }> {
  readonly #options: HttpFenceOptions<Request>;

  constructor(options: HttpFenceOptions<Request>) {
    checkKeys(options, "", ["gate", "groupId", "mandates"]);
    const { gate, groupId, mandates } = options;
    if (!(gate instanceof TermGate)) throw new InvalidRequestError("gate", "must be a TermGate");
    if (typeof groupId !== "function") checkId(groupId, "groupId");
    // Left out it means that none is asked for; anything else in its place must not mean the same.
    if (mandates !== undefined && !(mandates instanceof MandateVerifier)) {
      throw new InvalidRequestError("mandates", "must be a MandateVerifier");
    }
    this.#options = Object.freeze({ ...options });
  }

  async judge(request: Request): Promise<Verdict> {
    const { gate, groupId: given } = this.#options;
    const groupId = typeof given === "function" ? checkId(given(request), "groupId") : given;
    try {
      const admitted = await this.#claimOf(request.headers, groupId);
      await gate.admitOrThrow({ groupId, term: admitted.term });
      admissions.set(request, admitted);
      return { kind: "admitted", admitted };
    } catch (error) {
      return { kind: "refused", refusal: refusalOf(error) };
    }
  }

  async #claimOf(headers: IncomingHttpHeaders, groupId: string): Promise<AdmittedRequest> {
    const { mandates } = this.#options;
    const named = readHeader(headers, FENCE_HEADERS.group);
    if (named !== undefined && named !== groupId) {
      throw new HeaderProblem(
        `the header ${FENCE_HEADERS.group} must be ${groupId}, the group that guards this resource`,
      );
    }
    if (mandates === undefined) {
      const term = termOf(
        needHeader(headers, FENCE_HEADERS.term, `the term in which the sender leads ${groupId}`),
      );
      return { groupId, term };
    }
    const token = readHeader(headers, FENCE_HEADERS.mandate);
    if (token === undefined) throw new MissingMandate();
    const termText = readHeader(headers, FENCE_HEADERS.term);
    const expected = { groupId, term: termText === undefined ? undefined : termOf(termText) };
    const { term, nodeId } = await mandates.verify(token, expected);
    return { groupId, term, nodeId };
  }
}

class MissingMandate extends Error {}

const UNAUTHENTICATED = { "www-authenticate": FENCE_HEADERS.mandate };

/** A fault of ours is no answer to a caller, and is thrown on. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof HeaderProblem) return refusal(400, "INVALID_REQUEST", error.message);
  if (error instanceof MissingMandate) {
    const message = `the header ${FENCE_HEADERS.mandate} is missing; it must carry the token that the leader was given`;
    return refusal(401, "UNAUTHENTICATED", message, {}, UNAUTHENTICATED);
  }
  if (error instanceof StaleTermError) {
    const { groupId, term, highestTerm } = error;
    const told = { group_id: groupId, term, highest_term: highestTerm };
    return refusal(409, error.code, error.message, told);
  }
  if (!(error instanceof FenceError)) throw error;
  if (error.code === "FENCE_UNAVAILABLE") {
    // Where it lies is nobody's business outside.
    const message = "the fence of this resource cannot be reached; retry later";
    return refusal(503, error.code, message, {}, { "retry-after": "1" });
  }
  const message = `the header ${FENCE_HEADERS.mandate} is refused: ${error.message}`;
  return refusal(401, error.code, message, {}, UNAUTHENTICATED);
}

function refusal(
  status: Refusal["status"],
  code: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Refusal {
  return { status, headers, body: { ok: false, error: code, message, ...details } };
}
