import type { FindingKind } from "@tenure/api";
import type { Shell } from "../frame/shell.js";
import type { Colour } from "../frame/text.js";

/** The result of one check. */
export interface Finding {
  /** `warning`: works, and will stop working if this goes on. `note`: worth knowing, but nothing has to be fixed. */
  readonly level: "ok" | "note" | "warning" | "wrong";
  /** Of a finding that the attention list of a server shows, too. */
  readonly kind?: FindingKind;
  /** What it is about, in a word or two. */
  readonly about: string;
  readonly says: string;
  /** What to do. */
  readonly advice?: string;
}

export function ok(about: string, says: string): Finding {
  return { level: "ok", about, says };
}

export function note(about: string, says: string, advice?: string): Finding {
  return { level: "note", about, says, ...(advice === undefined ? {} : { advice }) };
}

export function wrong(about: string, says: string, advice: string): Finding {
  return { level: "wrong", about, says, advice };
}

/** The message of an error, for a check that could not be made. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}

const MARKS: Readonly<Record<Finding["level"], readonly [string, Colour]>> = {
  ok: ["ok   ", "green"],
  note: ["note ", "yellow"],
  warning: ["WARN ", "yellow"],
  wrong: ["WRONG", "red"],
};

/** A line on what was found, and one on what to do. */
export function tellFinding(shell: Shell, { level, about, says, advice }: Finding): void {
  const [mark, colour] = MARKS[level];
  shell.say(null, `${shell.paint(colour, mark)}  ${about}: ${says}`);
  if (advice !== undefined) shell.say(null, `       ${shell.paint("dim", `-> ${advice}`)}`);
}
