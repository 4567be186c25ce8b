/** The headers by which a leader says who it is, and how a resource reads them. */
import type { IncomingHttpHeaders } from "node:http";
import { parseTerm } from "../check.js";

export const FENCE_HEADERS = {
  /** Whose leader the sender claims to be. */
  group: "Tenure-Group",
  /** In which term. */
  term: "Tenure-Term",
  /** The service's signature on both. */
  mandate: "Tenure-Mandate",
} as const;

/** Told to the caller; each sentence names the header. */
export class HeaderProblem extends Error {}

export function readHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return undefined;
  // Node joins what is sent twice; other servers may give a list.
  if (typeof value !== "string") throw new HeaderProblem(`the header ${name} was sent more than once`);
  const text = value.trim();
  if (text === "") throw new HeaderProblem(`the header ${name} is empty`);
  return text;
}

export function needHeader(headers: IncomingHttpHeaders, name: string, what: string): string {
  const text = readHeader(headers, name);
  if (text === undefined) throw new HeaderProblem(`the header ${name} is missing; it must carry ${what}`);
  return text;
}

export function termOf(text: string): number {
  const term = parseTerm(text);
  if (term !== null) return term;
  throw new HeaderProblem(
    `the header ${FENCE_HEADERS.term} must be one whole number from 1 to ${Number.MAX_SAFE_INTEGER}`,
  );
}
