import { leaseResponse } from "@tenure/api";
import type { ElectorAdmin, Group, Leadership } from "@tenure/core";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellDuration, tellTime } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { NoGroupError, ofGroup } from "../frame/named-group.js";
import { stateOf, tellHold, tellLease, tellPause } from "./group-state.js";

interface LeaderFlags extends ConnectionFlags, OutputFlags {
  readonly local?: true;
}

/** What is known of a group besides its leader; `null` where this caller may not read it, or there is no group. */
interface Background {
  readonly group: Group | null;
  readonly sinceMs: number | null;
  readonly missing: NoGroupError | null;
}

export function leaderCommand(shell: Shell): Command {
  const command = electorCommand(shell, "leader", "Show the leader of a group; exit code 3 if there is none")
    .argument("<group>")
    .option("--local", "read the server's cache: may be stale, works while the store is down")
    .action((groupId: string, flags: LeaderFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const isLocal = flags.local === true;
        const consistency = isLocal ? "local" : "linearizable";
        const isBrief = isLocal || shell.isJson;
        const [found, background] = await Promise.all([
          elector.leader(groupId, { consistency, signal: shell.signal }),
          isBrief ? null : backgroundOf(elector, groupId, shell.signal),
        ]);
        const { leader, term, ageMs } = found;
        const age = isLocal ? `, as of ${tellDuration(ageMs)} ago` : "";
        shell.say(
          {
            leader: leader === null ? null : leaseResponse(leader),
            term,
            ...(isLocal ? { age_ms: Math.ceil(ageMs) } : {}),
          },
          `${sentence(groupId, found, background, shell.clock.wallMs())}${age}`,
          ...hints(groupId, found, background).map((hint) => shell.paint("yellow", hint)),
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

async function backgroundOf(
  elector: ElectorAdmin,
  groupId: string,
  signal: AbortSignal,
): Promise<Background> {
  const nothing = { group: null, sinceMs: null, missing: null };
  try {
    const [group, { events }] = await ofGroup(elector, groupId, signal, () =>
      Promise.all([elector.group(groupId, { signal }), elector.history(groupId, { signal })]),
    );
    const won = events.findLast(({ type, term }) => type === "LEADER_CHANGED" && term === group.term);
    return { group, sinceMs: won?.tsMs ?? null, missing: null };
  } catch (error) {
    signal.throwIfAborted();
    // The leader itself is known; this caller may not be allowed to read the rest.
    return error instanceof NoGroupError ? { ...nothing, missing: error } : nothing;
  }
}

function sentence(
  groupId: string,
  { leader, term }: Leadership,
  background: Background | null,
  nowMs: number,
): string {
  if (leader === null) {
    return `${groupId} has no leader; ${term === 0 ? "it never had one" : `its last term was ${term}`}`;
  }
  const { group = null, sinceMs = null } = background ?? {};
  const isSame = group?.term === leader.term;
  const lease = isSame && group.leader !== null ? `, lease ${tellLease(group, nowMs)} left` : "";
  const since =
    isSame && sinceMs !== null
      ? `, since ${tellTime(sinceMs)} (${tellDuration(Math.max(0, nowMs - sinceMs))})`
      : "";
  return `${leader.nodeId} leads ${groupId} in term ${leader.term}${lease}${since}`;
}

/** What keeps the group from electing a leader, or the leader from going on. */
function hints(groupId: string, { leader }: Leadership, background: Background | null): string[] {
  const { group = null, missing = null } = background ?? {};
  if (missing !== null) return [missing.message, "a group is created by its first campaign"];
  if (group === null) return [];
  const hold = tellHold(group);
  const pause = tellPause(group);
  return [
    ...(hold === null ? [] : [`held back ${hold}`]),
    ...(pause === null
      ? []
      : [
          `paused ${pause}: ${leader === null ? "no node can win" : "the leader may stay, no other node can win"}; ` +
            `end the pause with tenure resume ${groupId}`,
        ]),
    ...(stateOf(group) === "vacant" ? [`see why with tenure why ${groupId}`] : []),
  ];
}
