import { eventShape } from "@tenure/api";
import { BackendUnavailableError, type ElectorAdmin, type Group, sleep, type WatchEvent } from "@tenure/core";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { parseSince } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { NoGroupError, ofGroup } from "../frame/named-group.js";
import { parseWhole } from "../frame/numbers.js";
import { allGroups } from "./groups-command.js";
import { EventColumns } from "./event-columns.js";
import { eventsSince, type PastEvent } from "./events-since.js";

export interface WatchFlags extends ConnectionFlags, OutputFlags {
  readonly cursor?: number;
  readonly count?: number;
  readonly prefix?: string;
  readonly since?: (nowMs: number) => number;
}

const AGAIN_MS = 500;

export function watchCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "watch",
    "Follow changes of leaders: the current state first, then each event as it happens",
  )
    .argument("[group]", "group to watch (default: all groups)")
    .option("--prefix <text>", "only groups whose id starts with this prefix")
    .option(
      "--since <time>",
      "begin with the events since then: a duration such as 15m, or a time",
      parseSince,
    )
    .option("--cursor <n>", "start after this event; a cursor that --json printed", parseWhole)
    .option("--count <n>", "exit after this number of events; the current state does not count", parseWhole)
    .action((groupId: string | undefined, flags: WatchFlags) =>
      shell.connected(flags, ({ elector }) => watchEvents(shell, elector, groupId, flags)),
    );
  return withExamples(
    command,
    "tenure watch billing",
    "tenure watch --prefix eu/ --since 1h",
    "tenure watch --json | jq .leader_node_id",
    "tenure watch billing --cursor 17",
  );
}

/** A watch that breaks is resumed after its last event, until the user stops the command. */
export async function watchEvents(
  shell: Shell,
  elector: ElectorAdmin,
  groupId: string | undefined,
  flags: Omit<WatchFlags, keyof ConnectionFlags | keyof OutputFlags>,
): Promise<ExitCode> {
  const { signal } = shell;
  // A watch would retry forever; this reports a mistyped address.
  await elector.ping({ signal });
  const shown = new Shown(shell, groupId === undefined, flags.count ?? Number.POSITIVE_INFINITY);
  let cursor = flags.cursor;
  if (cursor === undefined) await shown.begin(elector, groupId, flags);
  while (!shown.isFull) {
    try {
      const options = { cursor, signal };
      const events = groupId === undefined ? elector.watchAll(options) : elector.watch(groupId, options);
      for await (const event of events) {
        cursor = event.cursor;
        if (event.groupId.startsWith(flags.prefix ?? "")) shown.take(event);
        if (shown.isFull) break;
      }
    } catch (error) {
      if (signal.aborted) break;
      if (!(error instanceof BackendUnavailableError)) throw error;
      shell.remark(`${error.message}; retrying from the last event`);
      await sleep(shell.clock, AGAIN_MS, signal).catch(() => {});
    }
  }
  return EXIT.done;
}

/** Of a watch, or of the history of a group. */
type Happened = WatchEvent | PastEvent;

/** What was printed so far: the state at the beginning, and the events after it, each once. */
class Shown {
  readonly #shell: Shell;
  readonly #columns: EventColumns;
  /** Terms and their ends that are part of the state at the beginning, or were printed from the history. */
  readonly #known = new Set<string>();
  readonly #max: number;
  #count = 0;
  #hasHeading = false;

  constructor(shell: Shell, isOfAll: boolean, max: number) {
    this.#shell = shell;
    this.#columns = new EventColumns(shell, isOfAll);
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#count >= this.#max;
  }

  /** Prints the state of each group in order, or the events since the given time. */
  async begin(
    elector: ElectorAdmin,
    groupId: string | undefined,
    { since, prefix }: Pick<WatchFlags, "since" | "prefix">,
  ): Promise<void> {
    const shell = this.#shell;
    const { signal } = shell;
    const groups = await this.#groups(elector, groupId, prefix);
    for (const { groupId: id, leader, term } of groups) {
      this.#known.add(keyOf(id, leader === null ? "LEADER_LOST" : "LEADER_CHANGED", term));
    }
    this.#columns.widen(groups.map((each) => each.groupId));
    if (since !== undefined) {
      const events = await eventsSince(elector, groups, since(shell.clock.wallMs()), signal);
      for (const event of events) {
        if (this.isFull) return;
        this.#known.add(keyOf(event.groupId, event.type, event.term));
        this.#print(event, {});
      }
      return;
    }
    // With --json the watch itself prints the state, with its cursor.
    if (!shell.isJson) for (const line of this.#columns.states(groups)) shell.write(`${line}\n`);
  }

  take(event: WatchEvent): void {
    const isState = event.type !== "RESYNC" && this.#known.has(keyOf(event.groupId, event.type, event.term));
    // A group that was never led has a state without an event.
    const isNothing = event.leaderNodeId === null && event.reason === "none";
    if (isState || isNothing) {
      if (this.#shell.isJson) this.#write(event, { cursor: String(event.cursor), current: true });
      return;
    }
    this.#print(event, { cursor: String(event.cursor) });
  }

  #print(event: Happened, more: object): void {
    this.#count++;
    if (!this.#hasHeading && !this.#shell.isJson) {
      this.#hasHeading = true;
      for (const line of this.#columns.heading()) this.#shell.write(`${line}\n`);
    }
    this.#write(event, more);
  }

  #write(event: Happened, more: object): void {
    this.#shell.say({ ...eventShape(event.groupId, event), ...more }, this.#columns.line(event));
  }

  async #groups(
    elector: ElectorAdmin,
    groupId: string | undefined,
    prefix: string | undefined,
  ): Promise<Group[]> {
    const { signal } = this.#shell;
    if (groupId !== undefined) {
      try {
        return [await ofGroup(elector, groupId, signal, () => elector.group(groupId, { signal }))];
      } catch (error) {
        if (!(error instanceof NoGroupError)) throw error;
        this.#shell.remark(`${error.message}; waiting for the first campaign`);
        return [];
      }
    }
    const groups: Group[] = [];
    for await (const group of allGroups(elector, prefix, signal)) groups.push(group);
    return groups;
  }
}

function keyOf(groupId: string, type: string, term: number): string {
  return `${groupId} ${type} ${term}`;
}
