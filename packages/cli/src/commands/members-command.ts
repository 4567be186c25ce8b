import { memberShape } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { ofGroup } from "../frame/named-group.js";
import type { Cell } from "../frame/text.js";
import { tellLease } from "./group-state.js";

export function membersCommand(shell: Shell): Command {
  const command = electorCommand(shell, "members", "List the nodes seen in the last 30 seconds")
    .argument("<group>")
    .action((groupId: string, flags: ConnectionFlags & OutputFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [members, group] = await ofGroup(elector, groupId, signal, () =>
          Promise.all([elector.members(groupId, { signal }), elector.group(groupId, { signal })]),
        );
        const nowMs = shell.clock.wallMs();
        const rows = members.map(({ nodeId, role, ready, lastHeartbeatMs, metadata }): Cell[] => [
          nodeId,
          role === "leader" ? ["green", role] : role,
          ready ? "yes" : ["yellow", "no"],
          `${tellDuration(Math.max(0, nowMs - lastHeartbeatMs))} ago`,
          metadata === undefined ? "" : JSON.stringify(metadata),
        ]);
        const { leader } = group;
        const isUnseen = leader !== null && !members.some(({ nodeId }) => nodeId === leader.nodeId);
        if (isUnseen && !shell.isJson) {
          rows.push([leader.nodeId, ["green", "leader"], "", `lease ${tellLease(group, nowMs)} left`, ""]);
        }
        const lines =
          rows.length === 0
            ? [`no node of ${groupId} was seen in the last 30 seconds`]
            : shell.table([["NODE", "ROLE", "READY", "LAST SEEN", "METADATA"], ...rows]);
        shell.say({ members: members.map(memberShape) }, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure members billing", "tenure members billing -o wide");
}
