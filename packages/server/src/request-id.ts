/** The id of a request, which the response, the logs and the audit log name. */
import { randomUUID } from "node:crypto";

/** The caller's own id is kept if it is short and has no other characters, because it is written to logs. */
const GIVEN = /^[A-Za-z0-9._:-]{1,100}$/;

/** The id that the caller gave, or else a new one. */
export function requestIdOf(given: unknown): string {
  return typeof given === "string" && GIVEN.test(given) ? given : randomUUID();
}
