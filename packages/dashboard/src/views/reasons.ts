import type { EndReason } from "../model/wire.js";

/** How a term ended, in a few words. */
export function ending(reason: EndReason, by?: string): string {
  const who = by === undefined ? "" : ` by ${by}`;
  switch (reason) {
    case "expired":
      return "lease expired";
    case "resigned":
      return "resigned";
    case "deposed":
      return `stepped down${who === "" ? "" : `, requested${who}`}`;
    case "transferred":
      return `handed over${who === "" ? "" : `, requested${who}`}`;
    case "none":
      return "not recorded";
  }
}

/** A letter for places too small for words; each has its legend. */
export const ENDING_MARKS: Readonly<Record<EndReason, string>> = {
  expired: "×",
  resigned: "○",
  deposed: "▼",
  transferred: "→",
  none: "?",
};
