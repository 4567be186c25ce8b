import { memberShape } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { table } from "../frame/text.js";

export function membersCommand(shell: Shell): Command {
  const command = electorCommand(shell, "members", "List the nodes seen in the last 30 seconds")
    .argument("<group>")
    .action((groupId: string, flags: ConnectionFlags & OutputFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const members = await elector.members(groupId, { signal: shell.signal });
        const nowMs = shell.clock.wallMs();
        const rows = members.map(({ nodeId, role, ready, lastHeartbeatMs, metadata }) => [
          nodeId,
          role,
          ready ? "yes" : "no",
          `${tellDuration(Math.max(0, nowMs - lastHeartbeatMs))} ago`,
          metadata === undefined ? "" : JSON.stringify(metadata),
        ]);
        const lines =
          rows.length === 0
            ? [`no node of ${groupId} was seen in the last 30 seconds`]
            : table([["NODE", "ROLE", "READY", "LAST SEEN", "METADATA"], ...rows]);
        shell.say({ members: members.map(memberShape) }, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure members billing");
}
