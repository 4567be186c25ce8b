import { actShape, historyShape } from "@tenure/api";
import type { GroupHistory } from "@tenure/core";
import { type Command, Option } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { parseSince } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { ofGroup } from "../frame/named-group.js";
import { historyRows } from "./history-rows.js";
import { EVENT_COLUMNS } from "./tell-event.js";

interface HistoryFlags extends ConnectionFlags, OutputFlags {
  readonly since?: (nowMs: number) => number;
  readonly csv?: true;
}

export function historyCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "history",
    "Show the last changes of a group and acts of operators, at most 64 of each, oldest first",
  )
    .argument("<group>")
    .option("--since <time>", "show only later changes: a duration such as 15m, or a time", parseSince)
    .addOption(new Option("--csv", "print comma-separated values, with a header").conflicts("json"))
    .action((groupId: string, flags: HistoryFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [all] = await ofGroup(elector, groupId, signal, () =>
          Promise.all([elector.history(groupId, { signal }), elector.group(groupId, { signal })]),
        );
        const sinceMs = flags.since?.(shell.clock.wallMs()) ?? Number.NEGATIVE_INFINITY;
        const events = all.events.filter(({ tsMs }) => tsMs >= sinceMs);
        const acts = all.acts.filter(({ tsMs }) => tsMs >= sinceMs);
        const isEmpty = all.events.length + all.acts.length === 0;
        const none = isEmpty ? "has no changes yet" : "has no changes in this time";
        const lines =
          flags.csv === true
            ? csvLines({ events, acts })
            : events.length + acts.length === 0
              ? [`${groupId} ${none}`]
              : shell.table([[...EVENT_COLUMNS], ...historyRows({ events, acts })]);
        const shown = {
          events: events.map((event) => historyShape(groupId, event)),
          acts: acts.map(actShape),
        };
        shell.say(shown, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(
    command,
    "tenure history billing",
    "tenure history billing --since 1h",
    "tenure history billing --csv > billing.csv",
  );
}

const CSV_COLUMNS = [
  "time",
  "type",
  "term",
  "leader_node_id",
  "previous_leader_node_id",
  "reason",
  "by",
  "silent_ms",
];

/** Events and acts of operators in one table; the type of an act is its name, and its node is that of the leader. */
function csvLines({ events, acts }: GroupHistory): string[] {
  const rows = [
    ...acts.map((act) => ({
      tsMs: act.tsMs,
      cells: [act.act, String(act.term), act.nodeId ?? "", "", act.reason ?? "", act.by, ""],
    })),
    ...events.map((event) => ({
      tsMs: event.tsMs,
      cells: [
        event.type,
        String(event.term),
        event.leaderNodeId ?? "",
        event.previousLeaderNodeId ?? "",
        event.reason,
        event.by ?? "",
        event.silentMs === undefined ? "" : String(event.silentMs),
      ],
    })),
  ].sort((a, b) => a.tsMs - b.tsMs);
  return [CSV_COLUMNS, ...rows.map(({ tsMs, cells }) => [new Date(tsMs).toISOString(), ...cells])].map(
    (row) => row.map(csvField).join(","),
  );
}

/** Quoted where RFC 4180 requires it. */
function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
