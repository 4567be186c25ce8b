/** `tenure tc`: the coordinator of a cluster of servers, its members and its decisions. */
import { InvalidRequestError } from "@tenure/core";
import { Argument, type Command, Option } from "commander";
import { EXIT, type Shell } from "../frame/shell.js";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { table } from "../frame/text.js";
import { askingCommand, type Body, refuse, word } from "./tc-asking.js";
import { TcClient, type TcFlags } from "./tc-client.js";
import { recoverCommand } from "./tc-recover-command.js";
import { statusCommand } from "./tc-status-command.js";

export function tcCommand(shell: Shell): Command {
  const rm = newCommand(shell, "rm", "Manage the resource managers of a cluster")
    .addCommand(rmListCommand(shell))
    .addCommand(rmUnregisterCommand(shell));
  const command = newCommand(shell, "tc", "Manage a cluster of servers without a shared store")
    .addCommand(statusCommand(shell))
    .addCommand(leaderCommand(shell))
    .addCommand(membersCommand(shell))
    .addCommand(leaveCommand(shell))
    .addCommand(recoverCommand(shell))
    .addCommand(withExamples(rm, "tenure tc rm list --bundle operator.pem"))
    .addCommand(decideCommand(shell));
  return withExamples(command, "tenure tc leader --bundle operator.pem --server https://node-1:7420");
}

function leaderCommand(shell: Shell): Command {
  const command = askingCommand(shell, "leader", "Show the coordinator").action((flags: TcFlags) =>
    ask(shell, flags, "GET", "/v1/tc/leader", undefined, (body) => {
      const { leader_id: id, leader_endpoint: endpoint, term, peer: _peer, ...rest } = body;
      const shown = { leader_id: id, leader_endpoint: endpoint, term, ...rest };
      if (id === null) {
        shell.say(shown, `no coordinator (term ${word(term)})`);
        return EXIT.unavailable;
      }
      shell.say(shown, `${word(id)} at ${word(endpoint)}, term ${word(term)}`);
      return EXIT.done;
    }),
  );
  return withExamples(command, "tenure tc leader --bundle operator.pem --server https://node-1:7420");
}

function membersCommand(shell: Shell): Command {
  const command = askingCommand(shell, "members", "List the active members").action((flags: TcFlags) =>
    ask(shell, flags, "GET", "/v1/tc/cluster/list", undefined, (body) => {
      const members = (body["members"] ?? []) as readonly { identity: string; endpoint: string }[];
      shell.say(
        body,
        ...table([["node", "endpoint"], ...members.map((each) => [each.identity, each.endpoint])]),
      );
      return EXIT.done;
    }),
  );
  return withExamples(command, "tenure tc members --bundle operator.pem");
}

function leaveCommand(shell: Shell): Command {
  const command = askingCommand(
    shell,
    "leave",
    "Remove a server from the cluster; send this to that server, with its own bundle",
  ).action((flags: TcFlags) =>
    ask(shell, flags, "POST", "/v1/tc/cluster/leave", undefined, (body) => {
      shell.say(body, "the server left the cluster; stop it when its log says so");
      return EXIT.done;
    }),
  );
  return withExamples(command, "tenure tc leave --bundle node-3.pem --server https://node-3:7420");
}

function rmListCommand(shell: Shell): Command {
  const command = askingCommand(shell, "list", "List the registered resource managers").action(
    (flags: TcFlags) =>
      ask(shell, flags, "GET", "/v1/tc/rm/list", undefined, (body) => {
        const rows = backendsIn(body).flatMap(({ backend_hash: hash, endpoints }) =>
          endpoints.map((each) => [hash, each]),
        );
        shell.say(body, ...table([["backend", "endpoint"], ...rows]));
        return EXIT.done;
      }),
  );
  return withExamples(command, "tenure tc rm list --bundle operator.pem");
}

function rmUnregisterCommand(shell: Shell): Command {
  const command = askingCommand(
    shell,
    "unregister",
    "Unregister an endpoint: no more decisions are applied there; needs a server bundle",
  )
    .argument("<endpoint>", "endpoint shown by tenure tc rm list")
    .addOption(new Option("--backend <hash>", "only this backend (default: all backends of the endpoint)"))
    .action(async (given: string, flags: TcFlags & { readonly backend?: string }) => {
      shell.isJson = flags.json === true;
      const client = new TcClient(shell, flags);
      const listed = await client.ask("GET", "/v1/tc/rm/list");
      if (listed.status !== 200) return refuse(shell, listed);
      const endpoint = given.replace(/\/+$/, "");
      const hashes = backendsIn(listed.body)
        .filter(
          ({ backend_hash: hash, endpoints }) =>
            endpoints.includes(endpoint) && hash === (flags.backend ?? hash),
        )
        .map(({ backend_hash: hash }) => hash);
      if (hashes.length === 0) {
        throw new InvalidRequestError(
          "endpoint",
          `is ${endpoint}, which is not registered; see tenure tc rm list`,
        );
      }
      for (const hash of hashes) {
        const answer = await client.ask("POST", "/v1/tc/rm/unregister", { backend_hash: hash, endpoint });
        if (answer.status !== 200) return refuse(shell, answer);
      }
      shell.say({ endpoint, backends: hashes }, `${endpoint} unregistered; decisions no longer wait for it`);
    });
  return withExamples(
    command,
    "tenure tc rm unregister https://node-3:7420 --bundle node-1.pem --server https://node-1:7420",
  );
}

function backendsIn(body: Body): readonly { backend_hash: string; endpoints: readonly string[] }[] {
  return (body["backends"] ?? []) as readonly { backend_hash: string; endpoints: readonly string[] }[];
}

function decideCommand(shell: Shell): Command {
  const command = askingCommand(shell, "decide", "Decide a transaction; the decision is final")
    .argument("<txn>", "id of the transaction")
    .addArgument(new Argument("<decision>").choices(["commit", "abort"]))
    .action((txn: string, decision: string, flags: TcFlags) =>
      ask(shell, flags, "POST", "/v1/tc/decide", { txn_id: txn, decision }, (body) => {
        const pending = (body["pending"] ?? []) as readonly string[];
        const rest =
          pending.length === 0 ? "applied everywhere" : `still to be applied at ${pending.join(", ")}`;
        shell.say(body, `${txn}: ${decision}, term ${word(body["tc_term"])}, ${rest}`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure tc decide order-17 commit --bundle operator.pem");
}

/** Prints a refusal in the words of the server; its error code decides the exit code. */
async function ask(
  shell: Shell,
  flags: TcFlags,
  method: "GET" | "POST",
  path: string,
  body: unknown,
  show: (body: Body) => number,
): Promise<void> {
  shell.isJson = flags.json === true;
  const answer = await new TcClient(shell, flags).ask(method, path, body);
  if (answer.status === 200) {
    shell.exitCode = show(answer.body);
    return;
  }
  refuse(shell, answer);
}
