/** `tenure tc status`: every server of a cluster is asked, and one screen shows what they say. */
import type { StatusShape } from "@tenure/peers";
import type { Command } from "commander";
import { EXIT, type Shell } from "../frame/shell.js";
import { withExamples } from "../frame/elector-command.js";
import { counted } from "../frame/numbers.js";
import { table } from "../frame/text.js";
import { type ClusterStatus, clusterStatus, labelOf, placesIn, type ServerView } from "./cluster-status.js";
import { askingCommand, refuse, word } from "./tc-asking.js";
import { TcClient, type TcFlags } from "./tc-client.js";

const PATH = "/v1/tc/status";

export function statusCommand(shell: Shell): Command {
  const command = askingCommand(
    shell,
    "status",
    "Show coordinator, electorate and problems of the cluster; exit code 4 without a coordinator",
  ).action(async (flags: TcFlags) => {
    shell.isJson = flags.json === true;
    const client = new TcClient(shell, flags);
    const answer = await client.ask("GET", PATH);
    if (answer.status !== 200) return refuse(shell, answer);
    const first = answer.body as unknown as StatusShape;
    const places = placesIn(first);
    const answers = await client.askEach([...places.keys()], PATH);
    const servers = [...places].map(([endpoint, identity]): ServerView => {
      const own = answers.get(endpoint);
      if (own === undefined || own instanceof Error)
        return { endpoint, identity, status: null, problem: own?.message ?? "not checked" };
      if (own.status !== 200) {
        return { endpoint, identity, status: null, problem: word(own.body["detail"] ?? own.status) };
      }
      return {
        endpoint,
        identity: own.identity,
        status: own.body as unknown as StatusShape,
        problem: null,
      };
    });
    const status = clusterStatus(first, servers, shell.clock.wallMs());
    shell.say(status, ...linesOf(status));
    shell.exitCode = status.leader === null ? EXIT.unavailable : EXIT.done;
  });
  return withExamples(command, "tenure tc status --bundle operator.pem --server https://node-1:7420");
}

function linesOf({ cluster, epoch, leader, servers, problems }: ClusterStatus): readonly string[] {
  const head = [
    `cluster      ${cluster ?? "not bootstrapped"}${epoch === null ? "" : `, electorate [${epoch.join(", ")}]`}`,
    leader === null
      ? "coordinator  none"
      : `coordinator  ${labelOf(leader.leader_id, servers)} at ${leader.leader_endpoint}, term ${leader.term}`,
  ];
  const rows = servers.map(({ endpoint, identity, status }) => [
    status?.certificate?.name ?? identity ?? "",
    endpoint,
    status === null ? "no answer" : roleOf(status),
    status === null ? "" : String(status.term),
    status === null ? "" : `${status.ttl_ms} ms`,
    status?.certificate?.expires_at.slice(0, 10) ?? "",
    status?.certificate?.serial ?? "",
  ]);
  const shown = table([["server", "endpoint", "is", "term", "ttl", "certificate until", "serial"], ...rows]);
  const found = problems.length === 0 ? ["no problems"] : [`${counted(problems.length, "problem")}:`];
  return [...head, "", ...shown, "", ...found, ...problems.map((each) => `- ${each}`)];
}

function roleOf({ is_leader: isLeader, is_elector: isElector }: StatusShape): string {
  return isLeader ? "coordinator" : isElector ? "elector" : "not an elector";
}
