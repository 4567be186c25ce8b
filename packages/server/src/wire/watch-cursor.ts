/**
 * Cursors of watches as clients send them back. A plain number stands for everything up to it. Where the states of many groups
 * were cut off, the number is followed by the last group that was shown: `12@billing`, or `12!billing` for RESYNC.
 */
import { checkId } from "@tenure/core/internal";
import { invalid } from "../service-error.js";
import type { WatchItem } from "../watch.js";
import { parseCount } from "./parse-text.js";

export interface WatchFrom {
  readonly cursor: number;
  readonly statesAfter?: { readonly groupId: string; readonly resync: boolean };
}

export function cursorText({ cursor, partial, event }: WatchItem): string {
  if (!partial) return String(cursor);
  return `${cursor}${event.type === "RESYNC" ? "!" : "@"}${event.group_id}`;
}

/** An empty text counts as absent, because many clients send it so. */
export function parseCursor(text: string | undefined, of: "one group" | "all groups"): WatchFrom | undefined {
  if (text === undefined || text === "") return undefined;
  const [number = "", mark, groupId = ""] = of === "all groups" ? text.split(/([@!])/, 3) : [text];
  const cursor = parseCount(number, "cursor");
  if (mark === undefined) return { cursor };
  return { cursor, statesAfter: { groupId: checkCursorId(groupId, text), resync: mark === "!" } };
}

function checkCursorId(groupId: string, text: string): string {
  try {
    if (text.endsWith(groupId)) return checkId(groupId, "cursor");
  } catch {
    // Refused below, with the words of this service.
  }
  throw invalid("cursor", "must be a cursor that this service returned");
}
