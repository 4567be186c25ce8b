/** What an error of ZooKeeper means to a write. Codes decide, never texts. */
import { BackendUnavailableError, InvalidRequestError, type TenureError } from "@tenure/core";
import { CODE } from "./wire/protocol.js";

/**
 * `conflict`: the node is not as expected. `refused`: certainly not written, for another reason. `unknown`: the answer
 * does not tell.
 */
export type Failure = "conflict" | "refused" | "unknown";

/**
 * A request that fails becomes a transaction of its own, which records the error and is ordered and acknowledged by the
 * quorum like any other; so its answer is as final as that of a write.
 */
export function failureOf(code: number, kind: "create" | "set"): Failure {
  switch (code) {
    case CODE.badVersion:
    case CODE.nodeExists:
      return "conflict";
    case CODE.noNode:
      // Of a node to be created, it is the parent that is missing.
      return kind === "set" ? "conflict" : "refused";
    case CODE.noAuth:
    case CODE.authFailed:
    case CODE.invalidAcl:
    case CODE.quotaExceeded:
    case CODE.throttled:
    case CODE.sessionExpired:
    case CODE.sessionMoved:
      return "refused";
    default:
      return "unknown";
  }
}

const MEANINGS: Readonly<Record<number, string>> = {
  [CODE.marshalling]: "it cannot do this; Tenure needs the default of zookeeper.watchManagerName",
  [CODE.unimplemented]: "it does not know this request; Tenure needs ZooKeeper 3.6 or newer",
  [CODE.noNode]: "the path is not there; was it deleted? Open the store again",
  [CODE.noAuth]: "the user has no permission; name a user of the path's access list in the URL",
  [CODE.authFailed]: "the user or the password is wrong",
  [CODE.invalidAcl]: "the access list is not accepted; give a user and a password",
  [CODE.quotaExceeded]: "the quota of the path is used up",
  [CODE.throttled]: "it is overloaded",
  [CODE.sessionExpired]: "the session has expired",
  [CODE.sessionMoved]: "the session has moved",
};

/** Until somebody changes the URL or the server, it is refused again. */
const LASTING: ReadonlySet<number> = new Set([
  CODE.marshalling,
  CODE.unimplemented,
  CODE.noAuth,
  CODE.authFailed,
  CODE.invalidAcl,
]);

export function refusal(code: number, what: string): BackendUnavailableError {
  return new BackendUnavailableError(`ZooKeeper refused ${what}: ${meaningOf(code)}`);
}

/** For what is asked as the store is opened. */
export function refusalToOpen(code: number, what: string): TenureError {
  if (!LASTING.has(code)) return refusal(code, what);
  return new InvalidRequestError("store", `cannot be used: ZooKeeper refused ${what}: ${meaningOf(code)}`);
}

function meaningOf(code: number): string {
  return `${MEANINGS[code] ?? "it gave no reason"} (code ${code})`;
}
