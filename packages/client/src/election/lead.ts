import type { Elector } from "@tenure/core";
import { Election, type WaitOptions } from "./election.js";
import type { LeadWork } from "./lead-scope.js";
import type { ElectionOptions } from "./options.js";

/** Leading as one call: creates an election for this work only. See `Election.lead`. */
export function lead<T>(
  elector: Elector,
  options: ElectionOptions,
  work: LeadWork<T>,
  wait: WaitOptions = {},
): Promise<T> {
  return new Election(elector, options).lead(work, wait);
}
