/** The state of a group in one word with its colour, and what holds its candidates back in a sentence. */
import type { Group, GroupBan, GroupHold } from "@tenure/core";
import { tellDuration, tellTime } from "../frame/duration.js";
import type { Cell, Colour } from "../frame/text.js";
import { because } from "./tell-act.js";

export type GroupState = "led" | "vacant" | "never led" | "paused" | "deposed" | "held back" | "flapping";

const COLOURS: Readonly<Record<GroupState, Colour>> = {
  led: "green",
  vacant: "red",
  "never led": "dim",
  paused: "cyan",
  deposed: "yellow",
  "held back": "yellow",
  flapping: "magenta",
};

export function stateOf({ leader, pausedForMs, heldBack, term }: Group): GroupState {
  if (pausedForMs !== null) return "paused";
  if (heldBack !== null) return heldBack.by === "deposed" ? "deposed" : "held back";
  if (leader !== null) return "led";
  return term === 0 ? "never led" : "vacant";
}

export function colourOf(state: GroupState): Colour {
  return COLOURS[state];
}

export function stateCell(group: Group): Cell {
  const state = stateOf(group);
  return [colourOf(state), state];
}

const HOLDS: Readonly<Record<GroupHold["by"], string>> = {
  deposed: "the leader was asked to step down and can no longer renew; its lease has not expired",
  reserved: "only the successor of a transfer can win",
  takeover_delay: "the takeover delay after an expired lease is running",
};

/** `for 5s: the takeover delay …`; `null` if nothing holds the group back. */
export function tellHold({ heldBack }: Group): string | null {
  return heldBack === null ? null : `for ${tellDuration(heldBack.forMs)}: ${HOLDS[heldBack.by]}`;
}

/** `until resumed, by jane since …: "migration"`; `null` if the group is not paused. */
export function tellPause({ pausedForMs, pause }: Group): string | null {
  if (pausedForMs === null) return null;
  const length =
    pausedForMs === "until-resumed" ? "until resumed" : `for another ${tellDuration(pausedForMs)}`;
  if (pause === null) return length;
  return `${length}, by ${pause.by} since ${tellTime(pause.sinceMs)}${because(pause.reason)}`;
}

/** `w1 for another 5m, by jane: "migration"`. */
export function tellBan({ nodeId, forMs, by, reason }: GroupBan): string {
  return `${nodeId} for another ${tellDuration(forMs)}${by === null ? "" : `, by ${by}`}${because(reason)}`;
}

/**
 * What is left of the lease, and its full length: `9.8s of 15s`. The clocks of this machine and of the server may differ, so never
 * more than the full length.
 */
export function tellLease({ leader, leaseTtlMs }: Group, nowMs: number): string {
  if (leader === null) return "";
  const leftMs = Math.min(leader.expiresAtMs - nowMs, leaseTtlMs ?? Number.POSITIVE_INFINITY);
  const left = leftMs <= 0 ? "expired" : tellDuration(Math.round(leftMs / 100) * 100);
  return leaseTtlMs === null || leftMs <= 0 ? left : `${left} of ${tellDuration(leaseTtlMs)}`;
}
