import { eventShape } from "@tenure/api";
import { BackendUnavailableError, type ElectorAdmin, sleep, type WatchEvent } from "@tenure/core";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import { tellEvent } from "./tell-event.js";

interface WatchFlags extends ConnectionFlags, OutputFlags {
  readonly cursor?: number;
  readonly count?: number;
}

const AGAIN_MS = 500;

export function watchCommand(shell: Shell): Command {
  const command = electorCommand(shell, "watch", "Watch changes of leaders")
    .argument("[group]", "group to watch (default: all groups)")
    .option("--cursor <n>", "start after this event; a cursor that --json printed", parseWhole)
    .option("--count <n>", "exit after this number of events", parseWhole)
    .action((groupId: string | undefined, flags: WatchFlags) =>
      shell.connected(flags, ({ elector }) => watchEvents(shell, elector, groupId, flags)),
    );
  return withExamples(
    command,
    "tenure watch billing",
    "tenure watch --json | jq .leader_node_id",
    "tenure watch billing --cursor 17",
  );
}

/** A watch that breaks is resumed after its last event, until the user stops the command. */
export async function watchEvents(
  shell: Shell,
  elector: ElectorAdmin,
  groupId: string | undefined,
  { cursor: given, count = Number.POSITIVE_INFINITY }: Pick<WatchFlags, "cursor" | "count">,
): Promise<ExitCode> {
  const { signal } = shell;
  // A watch would retry forever; this reports a mistyped address.
  await elector.ping({ signal });
  let cursor = given;
  let shown = 0;
  while (shown < count) {
    try {
      const options = { cursor, signal };
      const events = groupId === undefined ? elector.watchAll(options) : elector.watch(groupId, options);
      for await (const event of events) {
        cursor = event.cursor;
        show(shell, event);
        if (++shown >= count) break;
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

function show(shell: Shell, event: WatchEvent): void {
  shell.say(
    { ...eventShape(event.groupId, event), cursor: String(event.cursor) },
    tellEvent(event.groupId, event),
  );
}
