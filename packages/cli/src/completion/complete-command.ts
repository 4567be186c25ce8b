/** `tenure complete`: ids for the completion scripts. Quick and silent: an interactive shell waits for it. */
import type { ElectorAdmin } from "@tenure/core";
import { within } from "@tenure/core/internal";
import { Argument, type Command } from "commander";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { EXIT, type Shell } from "../frame/shell.js";

const LIMIT_MS = 1000;
/** More ids than this do not help to choose one. */
const MAX_IDS = 200;

export function completeCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "complete",
    "Print ids for a completion script; prints nothing on failure",
  )
    .addArgument(new Argument("<kind>").choices(["groups", "nodes"]))
    .argument("[prefix]", "beginning of the id", "")
    .argument("[group]", "group of the nodes")
    .action(
      async (
        kind: "groups" | "nodes",
        prefix: string,
        groupId: string | undefined,
        flags: ConnectionFlags,
      ) => {
        try {
          await shell.connected(flags, async ({ elector }) => {
            const late = (): Error => new Error("too slow");
            const limits = { limitMs: LIMIT_MS, signal: shell.signal, late };
            const ids = await within(shell.clock, limits, (signal) =>
              kind === "groups" ? groupIds(elector, prefix, signal) : nodeIds(elector, groupId ?? "", signal),
            );
            for (const id of ids.filter((each) => each.startsWith(prefix))) shell.write(`${id}\n`);
            return EXIT.done;
          });
        } catch {
          // An error would appear in the middle of the line that the user types.
          shell.exitCode = EXIT.failed;
        }
      },
    );
  return withExamples(command, "tenure complete groups bill", "tenure complete nodes w billing");
}

async function groupIds(elector: ElectorAdmin, prefix: string, signal: AbortSignal): Promise<string[]> {
  const query = { limit: MAX_IDS, ...(prefix === "" ? {} : { prefix }) };
  const { groups } = await elector.groups(query, { signal });
  return groups.map(({ groupId }) => groupId);
}

async function nodeIds(elector: ElectorAdmin, groupId: string, signal: AbortSignal): Promise<string[]> {
  const [members, { leader }] = await Promise.all([
    elector.members(groupId, { signal }),
    elector.group(groupId, { signal }),
  ]);
  const ids = new Set(members.map(({ nodeId }) => nodeId));
  // A leader with a long lease may not have been seen recently.
  if (leader !== null) ids.add(leader.nodeId);
  return [...ids].slice(0, MAX_IDS);
}
