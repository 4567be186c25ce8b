import { InvalidRequestError } from "@tenure/core";
import { checkInteger, isObject } from "@tenure/core/internal";
import type { ChildSpec, Restart } from "./child.js";

const RESTARTS: readonly Restart[] = ["permanent", "transient", "temporary"];
const MAX_STOP_MS = 3_600_000;

/** Throws `InvalidRequestError` for the first invalid child, with its position. */
export function checkChildren(children: readonly ChildSpec[]): void {
  if (!Array.isArray(children)) throw new InvalidRequestError("children", "must be a list");
  const ids = new Set<string>();
  for (const [index, child] of (children as readonly unknown[]).entries()) {
    const id = checkChild(child, `children[${index}]`);
    if (ids.has(id)) throw new InvalidRequestError("children", `name ${id} twice`);
    ids.add(id);
  }
}

/** Returns its id. */
function checkChild(child: unknown, place: string): string {
  if (!isObject(child)) throw new InvalidRequestError(place, "must be an object");
  const { id, start, restart, stopTimeoutMs } = child;
  if (typeof id !== "string" || id === "")
    throw new InvalidRequestError(`${place}.id`, "must be a non-empty string");
  if (typeof start !== "function") throw new InvalidRequestError(`${place}.start`, "must be a function");
  if (restart !== undefined && !RESTARTS.includes(restart as Restart)) {
    throw new InvalidRequestError(
      `${place}.restart`,
      `is ${JSON.stringify(restart)}; known are ${RESTARTS.join(", ")}`,
    );
  }
  if (stopTimeoutMs !== undefined && stopTimeoutMs !== Number.POSITIVE_INFINITY) {
    checkInteger(stopTimeoutMs, `${place}.stopTimeoutMs`, 0, MAX_STOP_MS);
  }
  return id;
}
