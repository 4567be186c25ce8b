/** The lines of `tenure watch`: columns that stay aligned although the next line is not known yet. */
import type { Group } from "@tenure/core";
import type { Shell } from "../frame/shell.js";
import { type Cell, table } from "../frame/text.js";
import { stateCell, tellLease } from "./group-state.js";
import { EVENT_COLUMNS, type Event, eventCells } from "./tell-event.js";

const TIME_WIDTH = 20;
const KIND_WIDTH = 7;
const MAX_GROUP_WIDTH = 40;
/** What remains of the width for the node, its term and the reason. */
const REST_WIDTH = 40;

export class EventColumns {
  readonly #shell: Shell;
  readonly #isOfAll: boolean;
  #groupWidth = 8;
  #nodeWidth = 8;

  /** `isOfAll`: the lines name the group. */
  constructor(shell: Shell, isOfAll: boolean) {
    this.#shell = shell;
    this.#isOfAll = isOfAll;
  }

  /** Makes room for these groups. */
  widen(groupIds: readonly string[]): void {
    const longest = Math.max(this.#groupWidth, ...groupIds.map(({ length }) => length));
    const { columns } = this.#shell;
    const room = columns === null ? MAX_GROUP_WIDTH : columns - TIME_WIDTH - KIND_WIDTH - REST_WIDTH;
    this.#groupWidth = Math.min(longest, Math.max(8, room));
  }

  /** The current state, under a heading, in order of id. */
  states(groups: readonly Group[]): string[] {
    if (groups.length === 0) return [];
    const nowMs = this.#shell.clock.wallMs();
    const rows = groups
      .toSorted((a, b) => (a.groupId < b.groupId ? -1 : 1))
      .map((group): Cell[] => [
        group.groupId,
        stateCell(group),
        group.leader?.nodeId ?? "-",
        String(group.term),
        tellLease(group, nowMs),
      ]);
    const { paint } = this.#shell;
    return [
      paint("bold", "CURRENT STATE"),
      ...this.#shell.table([["GROUP", "STATE", "LEADER", "TERM", "LEASE"], ...rows]),
      "",
    ];
  }

  heading(): string[] {
    const [time, kind, node, term, reason] = EVENT_COLUMNS;
    const { paint } = this.#shell;
    return [paint("bold", "EVENTS"), this.#row([time, kind, node, term, reason], "GROUP")];
  }

  line(event: Event & { readonly groupId: string }): string {
    this.widen([event.groupId]);
    return this.#row(eventCells(event), event.groupId);
  }

  #row([time = "", kind = "", node = "", term = "", reason = ""]: readonly Cell[], groupId: string): string {
    this.#nodeWidth = Math.max(this.#nodeWidth, textOf(node).length);
    const width = Math.min(this.#nodeWidth, MAX_GROUP_WIDTH);
    const cells = [
      padded(time, TIME_WIDTH),
      ...(this.#isOfAll ? [padded(groupId, this.#groupWidth)] : []),
      padded(kind, KIND_WIDTH),
      padded(node, width),
      ...(textOf(reason) === "" ? [term] : [padded(term, 4), reason]),
    ];
    const [line = ""] = table([cells], { columns: this.#shell.columns, paint: this.#shell.paint });
    return line;
  }
}

function padded(cell: Cell, width: number): Cell {
  return typeof cell === "string" ? cell.padEnd(width) : [cell[0], cell[1].padEnd(width)];
}

function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cell[1];
}
