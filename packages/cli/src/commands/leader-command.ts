import { leaseResponse } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";

interface LeaderFlags extends ConnectionFlags, OutputFlags {
  readonly local?: true;
}

export function leaderCommand(shell: Shell): Command {
  const command = electorCommand(shell, "leader", "Show the leader of a group; exit code 3 if there is none")
    .argument("<group>")
    .option("--local", "read the server's cache: may be stale, works while the store is down")
    .action((groupId: string, flags: LeaderFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const consistency = flags.local === true ? "local" : "linearizable";
        const { leader, term, ageMs } = await elector.leader(groupId, { consistency, signal: shell.signal });
        const age = flags.local === true ? `, as of ${tellDuration(ageMs)} ago` : "";
        const line =
          leader === null
            ? `${groupId} has no leader; ${term === 0 ? "it never had one" : `its last term was ${term}`}`
            : `${leader.nodeId} leads ${groupId} in term ${leader.term}${age}`;
        shell.say(
          {
            leader: leader === null ? null : leaseResponse(leader),
            term,
            ...(flags.local === true ? { age_ms: Math.ceil(ageMs) } : {}),
          },
          line,
        );
        return leader === null ? EXIT.notLeader : EXIT.done;
      }),
    );
  return withExamples(
    command,
    "tenure leader billing",
    "tenure leader billing --json --server https://a:7420,https://b:7420",
  );
}
