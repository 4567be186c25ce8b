import { historyShape } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellTime } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { tellChange } from "./tell-event.js";

export function historyCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "history",
    "Show the last changes of a group, at most 64, oldest first",
  )
    .argument("<group>")
    .action((groupId: string, flags: ConnectionFlags & OutputFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const events = await elector.history(groupId, { signal: shell.signal });
        const lines =
          events.length === 0
            ? [`${groupId} has no changes yet`]
            : events.map((event) => `${tellTime(event.tsMs)}  ${tellChange(event)}`);
        shell.say({ events: events.map((event) => historyShape(groupId, event)) }, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure history billing", "tenure history billing --json");
}
