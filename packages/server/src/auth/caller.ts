import { ID_CHARACTERS } from "@tenure/core/internal";
import { ServiceError } from "../service-error.js";
import type { Origin } from "./authenticator.js";

/**
 * The credential by which a caller was identified. `none`: no authentication is configured. Callers of the same name and
 * different kinds are different callers: a JWT may well carry the `sub` of somebody's certificate.
 */
export type CallerKind = "certificate" | "jwt" | "admin-token" | "none";

/** Who asks, however that was found out. */
export type Caller = {
  readonly kind: CallerKind;
  readonly name: string;
  /** Of the request at hand, for the audit log. */
  readonly origin?: Origin | undefined;
} & (
  | {
      /** May do everything, in the name of any node. */
      readonly role: "admin";
    }
  | {
      /** A node may take part as itself in the groups that its credentials name. An observer may only look at them. */
      readonly role: "node" | "observer";
      readonly groups: GroupPatterns;
    }
);

const NOT_IN_ID = new RegExp(`[^${ID_CHARACTERS}]`, "g");

/** `null`: all groups. A pattern is a group id in which `*` stands for any characters. */
export type GroupPatterns = readonly string[] | null;

export function maySee(caller: Caller, groupId: string): boolean {
  return (
    caller.role === "admin" || caller.groups === null || caller.groups.some((each) => matches(each, groupId))
  );
}

export function checkMaySee(caller: Caller, groupId: string): void {
  if (!maySee(caller, groupId)) throw refused(caller, `may not see group ${groupId}`);
}

/** For what is about all groups at once. `what`: its name and verb, as in "metrics show". */
export function checkMaySeeAll(caller: Caller, what: string): void {
  if (caller.role !== "admin" && caller.groups !== null)
    throw refused(caller, `may see only some groups, and ${what} all groups`);
}

/** Taking part in somebody else's name would let one node resign another's leadership. */
export function checkMayActAs(caller: Caller, groupId: string, nodeId: string): void {
  checkMaySee(caller, groupId);
  if (caller.role === "admin") return;
  if (caller.role === "observer") throw refused(caller, "is an observer and may only read");
  if (caller.name !== nodeId) throw refused(caller, `may not act as ${nodeId}`);
}

export function checkIsAdmin(caller: Caller): void {
  if (caller.role !== "admin") throw refused(caller, "is not an admin");
}

/** The caller's name as an id, for events. The name of an admin, such as the subject of a token, may contain characters that an id may not. */
export function byOf({ name }: Caller): string {
  return name === "." || name === ".." ? "_" : name.replaceAll(NOT_IN_ID, "_");
}

function refused(caller: Caller, what: string): ServiceError {
  return new ServiceError("UNAUTHORIZED", `${caller.name} ${what}`);
}

/** Linear in both, whatever the pattern: the classic two-pointer match. */
function matches(pattern: string, text: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    if (pattern[from] === "*") {
      star = from++;
      resume = at;
    } else if (pattern[from] === text[at]) {
      from++;
      at++;
    } else if (star !== -1) {
      from = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (pattern[from] === "*") from++;
  return from === pattern.length;
}
