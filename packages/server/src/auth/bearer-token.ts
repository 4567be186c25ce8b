import { createHash } from "node:crypto";
import { unauthenticated } from "../service-error.js";

/** What came as `Authorization: Bearer …`. The digest is made once and serves every comparison and lookup. */
export interface BearerToken {
  readonly text: string;
  readonly digest: Buffer;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export function readBearerToken(authorization: string): BearerToken {
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) throw unauthenticated("the Authorization header must have the form Bearer TOKEN");
  return { text, digest: digestOf(text) };
}

export function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
