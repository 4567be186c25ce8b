/**
 * What a verified token says of its bearer.
 *
 * `groups` must be there for nodes and observers. To read its absence as "all groups" would be to fail open: identity
 * providers leave the claim out when a list is empty or has grown too long. `["*"]` says all groups, and says it plainly.
 * An admin is not limited to groups; a token that seems to limit one is refused, since it would not.
 */
import { ID_CHARACTERS, isId, LIMITS } from "@tenure/core/internal";
import type { JWTPayload } from "jose";
import type { Caller } from "./caller.js";
import { unauthenticated } from "../service-error.js";

const MAX_PATTERNS = 256;
const PATTERN = new RegExp(`^[*${ID_CHARACTERS}]+$`);
const CONTROL = /\p{Cc}/u;

export function callerOfClaims(claims: JWTPayload): Caller {
  const { sub, role = "node" } = claims;
  const groups = parseGroups(claims["groups"]);
  if (role === "admin") {
    if (!isPersonName(sub)) throw unauthenticated("sub of the token must be a name of 1 to 200 characters");
    if (groups !== undefined && !groups.includes("*")) {
      throw unauthenticated("the token limits an admin to groups, which is not supported; remove groups");
    }
    return { kind: "jwt", role, name: sub };
  }
  if (role !== "node" && role !== "observer") {
    throw unauthenticated("role of the token must be node, observer or admin");
  }
  if (role === "node" ? !isId(sub) : !isPersonName(sub)) {
    throw unauthenticated("sub of the token must be a node id: 1 to 200 characters of A-Z a-z 0-9 . _ : / -");
  }
  if (groups === undefined) {
    throw unauthenticated('the token has no groups; it must list group patterns, or ["*"] for all groups');
  }
  return { kind: "jwt", role, name: sub as string, groups: groups.includes("*") ? null : groups };
}

function parseGroups(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > MAX_PATTERNS || !value.every(isGroupPattern)) {
    throw unauthenticated(
      `groups of the token must be a list of at most ${MAX_PATTERNS} group ids, in which * stands for any characters`,
    );
  }
  return value;
}

/** A group id in which `*` may stand for any characters. */
function isGroupPattern(value: unknown): value is string {
  return isShort(value) && PATTERN.test(value);
}

/** The name of a caller that takes part in no election. It is shown to people and compared with nothing. */
function isPersonName(value: unknown): value is string {
  return isShort(value) && !CONTROL.test(value) && value.trim() !== "";
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= LIMITS.idLength;
}
