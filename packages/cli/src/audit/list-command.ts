import { groupActShape } from "@tenure/api";
import type { Command } from "commander";
import type { ConnectionFlags } from "../frame/connection.js";
import { tellTime } from "../frame/duration.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { Cell } from "../frame/text.js";
import { detailsOf, kindCell } from "../commands/tell-act.js";

interface AuditFlags extends ConnectionFlags, OutputFlags {
  readonly group?: string;
  readonly by?: string;
  readonly limit: number;
  readonly cursor?: string;
}

export function auditListCommand(shell: Shell): Command {
  const command = electorCommand(shell, "list", "List what operators did, newest first")
    .option("--group <id>", "only acts on this group")
    .option("--by <name>", "only acts of this operator")
    .option("--limit <n>", "at most this number of acts, up to 1000", parseWhole, 100)
    .option("--cursor <text>", "continue after the page that printed this cursor")
    .action((flags: AuditFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { group: groupId, by, limit, cursor } = flags;
        const page = await elector.audit({ groupId, by, limit, cursor }, { signal: shell.signal });
        const rows = page.acts.map((act): Cell[] => [
          ["dim", tellTime(act.tsMs)],
          act.groupId,
          kindCell(act),
          act.nodeId ?? "-",
          String(act.term),
          detailsOf(act),
        ]);
        const lines =
          rows.length === 0
            ? ["there are no such acts"]
            : shell.table([["TIME", "GROUP", "ACT", "NODE", "TERM", "DETAILS"], ...rows]);
        if (page.cursor !== null && !shell.isJson) lines.push(`more: --cursor ${page.cursor}`);
        shell.say({ acts: page.acts.map(groupActShape), cursor: page.cursor }, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure audit", "tenure audit --group billing --by jane");
}
