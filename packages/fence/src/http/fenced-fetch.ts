/** The leader's side of the HTTP guards: `fetch` that says in which term it asks. */
import { InvalidRequestError } from "@tenure/core";
import { checkId } from "@tenure/core/internal";
import { checkTerm, isTerm } from "../check.js";
import { NotLeaderError, StaleTermError } from "../errors.js";
import { FENCE_HEADERS } from "./headers.js";

/** What the sender leads right now. */
export interface Leading {
  readonly groupId: string;
  readonly term: number;
  /** The mandate that came with the last campaign or renewal. */
  readonly token?: string | undefined;
}

/** Asked right before each request; `null` if the sender no longer leads. */
export type LeadingSource = () => Leading | null | undefined;

/**
 * Sends the term, and the mandate if there is one, with each request. Rejects with `NotLeaderError`, and sends nothing,
 * when the source gives none; with `StaleTermError` when the resource has seen a later leader.
 *
 * Redirects are errors unless asked for: fetch would carry the mandate to wherever they point.
 */
export function fencedFetch(fetch: typeof globalThis.fetch, source: LeadingSource): typeof globalThis.fetch {
  if (typeof fetch !== "function") throw new InvalidRequestError("fetch", "must be a function");
  if (typeof source !== "function") throw new InvalidRequestError("source", "must be a function");
  return async (input, init) => {
    // A Request may be of another implementation than the global one.
    const own = typeof input === "object" && "headers" in input ? input.headers : undefined;
    const headers = new Headers(init?.headers ?? own);
    const leading = source();
    if (leading === null || leading === undefined) {
      throw new NotLeaderError("the request was not sent: its sender does not lead any more");
    }
    setHeaders(headers, leading);
    const response = await fetch(input, { ...init, redirect: init?.redirect ?? "error", headers });
    if (response.status !== 409) return response;
    const stale = await staleTermIn(response, leading);
    if (stale === null) return response;
    await response.body?.cancel();
    throw stale;
  };
}

function setHeaders(headers: Headers, { groupId, term, token }: Leading): void {
  headers.set(FENCE_HEADERS.group, checkId(groupId, "groupId"));
  headers.set(FENCE_HEADERS.term, String(checkTerm(term, "term")));
  // One that the caller has set itself would be another term's.
  if (token === undefined) headers.delete(FENCE_HEADERS.mandate);
  else headers.set(FENCE_HEADERS.mandate, token);
}

/** From a copy: what is no refusal by a fence is the caller's to read. */
async function staleTermIn(response: Response, { groupId, term }: Leading): Promise<StaleTermError | null> {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "")) return null;
  let body: { error?: unknown; highest_term?: unknown } | null;
  try {
    body = (await response.clone().json()) as typeof body;
  } catch {
    // Not JSON after all, or broken off: reading it will tell the caller.
    return null;
  }
  if (body?.error !== "STALE_TERM") return null;
  return new StaleTermError(groupId, term, isTerm(body.highest_term) ? body.highest_term : null);
}
