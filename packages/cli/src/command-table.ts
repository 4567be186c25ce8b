/** All commands of `tenure`, in the order of the help. The module of a command is loaded when the command is used. */
import type { Command } from "commander";
import type { Shell } from "./frame/shell.js";

export interface CommandEntry {
  readonly name: string;
  /** The line in `tenure --help`. */
  readonly summary: string;
  readonly section: string;
  /** Not in the help. */
  readonly isHidden: boolean;
  load(shell: Shell): Promise<Command>;
}

type Load = CommandEntry["load"];

const SECTIONS: Readonly<Record<string, readonly (readonly [name: string, summary: string, load: Load])[]>> =
  {
    "Participate:": [
      [
        "run",
        "Run a command only while this node leads",
        async (shell) => (await import("./run/run-command.js")).runCommand(shell),
      ],
      [
        "elect",
        "Lead without a command, for programs beside it",
        async (shell) => (await import("./elect/elect-command.js")).electCommand(shell),
      ],
      [
        "campaign",
        "Campaign for a group",
        async (shell) => (await import("./commands/campaign-command.js")).campaignCommand(shell),
      ],
      [
        "renew",
        "Renew the lease of a term",
        async (shell) => (await import("./commands/renew-command.js")).renewCommand(shell),
      ],
      [
        "resign",
        "Resign from a term",
        async (shell) => (await import("./commands/renew-command.js")).resignCommand(shell),
      ],
    ],
    "Observe:": [
      [
        "leader",
        "Show the leader of a group",
        async (shell) => (await import("./commands/leader-command.js")).leaderCommand(shell),
      ],
      [
        "watch",
        "Follow changes of leaders",
        async (shell) => (await import("./commands/watch-command.js")).watchCommand(shell),
      ],
      [
        "top",
        "Show all groups, live",
        async (shell) => (await import("./top/top-command.js")).topCommand(shell),
      ],
      [
        "members",
        "List the nodes of a group",
        async (shell) => (await import("./commands/members-command.js")).membersCommand(shell),
      ],
      [
        "history",
        "Show the last changes of a group",
        async (shell) => (await import("./commands/history-command.js")).historyCommand(shell),
      ],
      [
        "why",
        "Explain who leads a group and why",
        async (shell) => (await import("./why/why-command.js")).whyCommand(shell),
      ],
    ],
    "Operate:": [
      [
        "groups",
        "List, show, create, change and delete groups",
        async (shell) => (await import("./commands/groups-command.js")).groupsCommand(shell),
      ],
      [
        "step-down",
        "Ask the leader of a group to step down",
        async (shell) => (await import("./commands/operate-commands.js")).stepDownCommand(shell),
      ],
      [
        "transfer",
        "Transfer the leadership to a waiting node",
        async (shell) => (await import("./commands/operate-commands.js")).transferCommand(shell),
      ],
      [
        "pause",
        "Pause elections of a group",
        async (shell) => (await import("./commands/operate-commands.js")).pauseCommand(shell),
      ],
      [
        "resume",
        "Resume elections of a group",
        async (shell) => (await import("./commands/operate-commands.js")).resumeCommand(shell),
      ],
      [
        "audit",
        "List what operators did, check audit files",
        async (shell) => (await import("./audit/audit-command.js")).auditCommand(shell),
      ],
    ],
    "Server and tools:": [
      [
        "serve",
        "Run the election service",
        async (shell) => (await import("./serve-command.js")).serveCommand(shell),
      ],
      [
        "doctor",
        "Find problems and suggest fixes",
        async (shell) => (await import("./doctor/doctor-command.js")).doctorCommand(shell),
      ],
      [
        "bench",
        "Measure failover and throughput",
        async (shell) => (await import("./bench/bench-command.js")).benchCommand(shell),
      ],
      [
        "plan",
        "Predict failover time and load of a ttl",
        async (shell) => (await import("./plan/plan-command.js")).planCommand(shell),
      ],
      [
        "tc",
        "Manage a cluster of servers without a shared store",
        async (shell) => (await import("./peers/tc-command.js")).tcCommand(shell),
      ],
      [
        "ca",
        "Create certificates for servers, clients and admins",
        async (shell) => (await import("./peers/ca-command.js")).caCommand(shell),
      ],
      [
        "config",
        "Manage contexts: named servers with their credentials",
        async (shell) => (await import("./config/config-command.js")).configCommand(shell),
      ],
      [
        "completion",
        "Print a completion script for a shell",
        async (shell) => (await import("./completion/completion-command.js")).completionCommand(shell),
      ],
      ["version", "Print the version", async (shell) => (await import("./version.js")).versionCommand(shell)],
    ],
  };

const COMPLETE: CommandEntry = {
  name: "complete",
  summary: "Print ids for a completion script",
  section: "Server and tools:",
  isHidden: true,
  load: async (shell) => (await import("./completion/complete-command.js")).completeCommand(shell),
};

export const COMMANDS: readonly CommandEntry[] = Object.entries(SECTIONS)
  .flatMap(([section, commands]) =>
    commands.map(([name, summary, load]) => ({ name, summary, section, load, isHidden: false })),
  )
  .concat(COMPLETE);
