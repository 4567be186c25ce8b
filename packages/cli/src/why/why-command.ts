import { actShape, FULL_RESPONSE, groupShape, historyShape } from "@tenure/api";
import type { Command } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import type { ConnectionFlags } from "../frame/connection.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { ofGroup } from "../frame/named-group.js";
import { parseWhole } from "../frame/numbers.js";
import { colourOf, stateOf } from "../commands/group-state.js";
import { explain } from "./explain.js";

interface WhyFlags extends ConnectionFlags, OutputFlags {
  readonly terms: number;
}

export function whyCommand(shell: Shell): Command {
  const command = electorCommand(shell, "why", "Explain who leads a group and why")
    .argument("<group>")
    .option("--terms <n>", "number of terms to explain", parseWhole, 5)
    .action((groupId: string, flags: WhyFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [group, { events, acts }, members] = await ofGroup(elector, groupId, signal, () =>
          Promise.all([
            elector.group(groupId, { signal }),
            elector.history(groupId, { signal }),
            elector.members(groupId, { signal }),
          ]),
        );
        const sentences = explain({ group, events, acts, members, nowMs: shell.clock.wallMs() }, flags.terms);
        shell.say(
          {
            group: groupShape(group, FULL_RESPONSE),
            sentences,
            events: events.map((event) => historyShape(groupId, event)),
            acts: acts.map(actShape),
          },
          // The first sentence says what the group is now, the others how it came to that.
          ...sentences.map((each, index) =>
            index === 0 ? shell.paint(colourOf(stateOf(group)), each) : each,
          ),
        );
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure why billing", "tenure why billing --terms 20");
}
