/** `tenure groups`: list, show, create, update, delete. */
import { FULL_RESPONSE, groupShape } from "@tenure/api";
import type { ElectorAdmin, Group, GroupHistory, GroupInput, PolicyInput } from "@tenure/core";
import { type Command, Option } from "commander";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import { type ConnectionFlags, defaultOperator } from "../frame/connection.js";
import { parseDuration } from "../frame/duration.js";
import { electorCommand, newCommand, withExamples } from "../frame/elector-command.js";
import { ofGroup } from "../frame/named-group.js";
import { parseShare } from "../frame/numbers.js";
import { BY, REASON } from "./act-options.js";
import { groupLines, groupRows } from "./tell-group.js";

type Flags = ConnectionFlags & OutputFlags;

interface GroupFlags extends Flags {
  readonly minTtl?: number;
  readonly maxTtl?: number;
  readonly takeoverDelay?: number;
  readonly strategy?: "first" | "priority";
  readonly preempt?: boolean;
  readonly retryInitial?: number;
  readonly retryMax?: number;
  readonly retryJitter?: number;
  readonly allow?: readonly string[];
  readonly allowAny?: true;
  readonly by: string;
  readonly reason?: string;
}

interface DeleteFlags extends Flags {
  readonly force?: true;
  readonly by: string;
  readonly reason?: string;
}

const PAGE = 1000;

export function groupsCommand(shell: Shell): Command {
  const command = newCommand(shell, "groups", "List, create, change and delete groups")
    .addCommand(listCommand(shell), { isDefault: true })
    .addCommand(showCommand(shell))
    .addCommand(createCommand(shell))
    .addCommand(updateCommand(shell))
    .addCommand(deleteCommand(shell));
  return withExamples(
    command,
    "tenure groups",
    "tenure groups create billing --min-ttl 2s --allow worker-1,worker-2",
  );
}

/** Every group below the prefix, a page at a time. */
export async function* allGroups(
  elector: ElectorAdmin,
  prefix: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<Group, undefined> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await elector.groups({ prefix, limit: PAGE, cursor }, { signal });
    yield* page.groups;
    cursor = page.cursor;
  }
}

function listCommand(shell: Shell): Command {
  const command = electorCommand(shell, "list", "List groups")
    .option("--prefix <text>", "list only groups whose id starts with this prefix")
    .action(({ prefix, ...flags }: Flags & { prefix?: string }) =>
      shell.connected(flags, async ({ elector }) => {
        const groups: Group[] = [];
        for await (const group of allGroups(elector, prefix, shell.signal)) groups.push(group);
        const lines = shell.isJson || groups.length === 0 ? [] : await groupRows(shell, elector, groups);
        if (groups.length === 0)
          lines.push(prefix === undefined ? "there are no groups" : `no group starts with ${prefix}`);
        shell.say({ groups: groups.map((each) => groupShape(each, FULL_RESPONSE)) }, ...lines);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure groups list --prefix billing/", "tenure groups list -o wide");
}

function showCommand(shell: Shell): Command {
  const command = electorCommand(shell, "show", "Show a group and its policy")
    .argument("<group>")
    .action((groupId: string, flags: Flags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const [group, history] = await ofGroup(elector, groupId, signal, () =>
          Promise.all([elector.group(groupId, { signal }), elector.history(groupId, { signal })]),
        );
        tellGroup(shell, group, history);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure groups show billing");
}

function createCommand(shell: Shell): Command {
  const command = policyOptions(electorCommand(shell, "create", "Create a group"))
    .argument("<group>")
    .action((groupId: string, flags: GroupFlags) =>
      shell.connected(flags, async ({ elector }) => {
        tellGroup(shell, await elector.createGroup(groupInput(groupId, flags), { signal: shell.signal }));
        return EXIT.done;
      }),
    );
  return withExamples(
    command,
    "tenure groups create billing --min-ttl 2s --max-ttl 30s",
    "tenure groups create billing --strategy priority --preempt",
  );
}

function updateCommand(shell: Shell): Command {
  const command = policyOptions(electorCommand(shell, "update", "Change the policy of a group"))
    .option("--no-preempt", "never ask the leader to hand over to a node of higher priority")
    .option("--allow-any", "let every node campaign")
    .argument("<group>")
    .action((groupId: string, flags: GroupFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        const input = groupInput(groupId, flags);
        tellGroup(
          shell,
          await ofGroup(elector, groupId, signal, () => elector.updateGroup(input, { signal })),
        );
        return EXIT.done;
      }),
    );
  return withExamples(
    command,
    "tenure groups update billing --takeover-delay 5s",
    "tenure groups update billing --allow-any",
  );
}

function deleteCommand(shell: Shell): Command {
  const command = electorCommand(shell, "delete", "Delete a group; its last term is kept")
    .argument("<group>")
    .option("--force", "delete the group even while it has a leader")
    .option(...REASON)
    .option(...BY, defaultOperator())
    .action((groupId: string, { force, by, reason, ...flags }: DeleteFlags) =>
      shell.connected(flags, async ({ elector }) => {
        const { signal } = shell;
        await ofGroup(elector, groupId, signal, () =>
          elector.deleteGroup({ groupId, by, force, reason }, { signal }),
        );
        shell.say({ ok: true }, `${groupId} deleted`);
        return EXIT.done;
      }),
    );
  return withExamples(command, "tenure groups delete billing --force");
}

function policyOptions(command: Command): Command {
  return command
    .option("--min-ttl <duration>", "shortest ttl that a lease may have", parseDuration)
    .option("--max-ttl <duration>", "longest ttl that a lease may have", parseDuration)
    .option(
      "--takeover-delay <duration>",
      "wait this long after a lease expires before electing a new leader",
      parseDuration,
    )
    .addOption(new Option("--strategy <name>", "which waiting candidate wins").choices(["first", "priority"]))
    .option("--preempt", "ask the leader to hand over to a waiting node of higher priority")
    .option("--retry-initial <duration>", "first retry delay of clients", parseDuration)
    .option("--retry-max <duration>", "longest retry delay of clients", parseDuration)
    .option("--retry-jitter <share>", "random share of the retry delay, 0 to 1", parseShare)
    .option("--allow <nodes>", "comma-separated ids of the only nodes that may campaign", (text: string) =>
      text.split(","),
    )
    .option(...REASON)
    .option(...BY, defaultOperator());
}

/** Only the options that were given; the others stay unchanged. */
function groupInput(groupId: string, flags: GroupFlags): GroupInput {
  const retry = given({
    initialMs: flags.retryInitial,
    maxMs: flags.retryMax,
    jitter: flags.retryJitter,
  });
  const policy: PolicyInput | undefined = given({
    minTtlMs: flags.minTtl,
    maxTtlMs: flags.maxTtl,
    takeoverDelayMs: flags.takeoverDelay,
    strategy: flags.strategy,
    preempt: flags.preempt,
    retry,
  });
  const allowedNodes = flags.allowAny === true ? null : flags.allow;
  return {
    groupId,
    by: flags.by,
    reason: flags.reason,
    ...(policy === undefined ? {} : { policy }),
    ...(allowedNodes === undefined ? {} : { allowedNodes }),
  };
}

function given<T extends object>(values: T): Partial<T> | undefined {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<T>);
}

function tellGroup(shell: Shell, group: Group, history: GroupHistory | null = null): void {
  shell.say(groupShape(group, FULL_RESPONSE), ...groupLines(shell, group, history));
}
