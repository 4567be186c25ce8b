/** `tenure tc recover`: a new electorate after a majority of the old one is lost for good. */
import type { Command } from "commander";
import { Option } from "commander";
import { EXIT, type Shell } from "../frame/shell.js";
import { withExamples } from "../frame/elector-command.js";
import { askingCommand, type Body, refuse, word } from "./tc-asking.js";
import { TcClient, type TcFlags } from "./tc-client.js";

interface RecoverFlags extends TcFlags {
  readonly lost: readonly string[];
  readonly confirm?: string;
}

export function recoverCommand(shell: Shell): Command {
  const command = askingCommand(
    shell,
    "recover",
    "Make one server the only elector after a majority is lost permanently; send this to that server, with its own bundle",
  )
    .requiredOption(
      "--lost <id...>",
      "node ids of the electors that will never run with their old disks again",
    )
    .addOption(
      new Option("--confirm <cluster>", "carry out the plan; without this option the plan is only shown"),
    )
    .action(async (flags: RecoverFlags) => {
      shell.isJson = flags.json === true;
      const body = { lost: flags.lost, ...(flags.confirm === undefined ? {} : { confirm: flags.confirm }) };
      const answer = await new TcClient(shell, flags).ask("POST", "/v1/tc/cluster/recover", body);
      if (answer.status !== 200) return refuse(shell, answer);
      shell.say(answer.body, ...linesOf(answer.body, flags));
      shell.exitCode = answer.body["recovered"] === true ? EXIT.done : EXIT.failed;
    });
  return withExamples(
    command,
    "tenure tc recover --lost ID-2 ID-3 --bundle node-1.pem --server https://node-1:7420",
  );
}

function linesOf(body: Body, { lost }: RecoverFlags): readonly string[] {
  const list = (name: string): string => (body[name] as readonly string[]).join(", ");
  if (body["recovered"] === true) {
    return [
      `${list("new_electors")} is the only elector of ${word(body["cluster"])} now, with electorate [${list("new_epoch")}]`,
      "other running servers are added automatically; start the lost servers with empty disks only",
    ];
  }
  return [
    `electors     ${list("electors")}, electorate [${list("epoch")}]`,
    `lost         ${list("lost")}`,
    `survivors    ${list("survivors")}`,
    `afterwards   ${list("new_electors")}, electorate [${list("new_epoch")}]`,
    "",
    "Nothing has changed yet. Decisions that only the lost servers stored will be lost. If the lost servers still run",
    "somewhere else, there will be two coordinators: make sure that they are off, and revoke their bundles.",
    `To continue, repeat the command with --lost ${lost.join(" ")} --confirm ${word(body["cluster"])}`,
  ];
}
