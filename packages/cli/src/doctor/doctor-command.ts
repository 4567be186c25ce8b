import { type ElectorAdmin, type Group, InvalidRequestError } from "@tenure/core";
import type { Command } from "commander";
import { allGroups } from "../commands/groups-command.js";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import {
  type ConnectionFlags,
  openTarget,
  serverTarget,
  type Target,
  targetOf,
} from "../frame/connection.js";
import { electorCommand, withExamples } from "../frame/elector-command.js";
import { counted } from "../frame/numbers.js";
import { checkRate, checkSkew } from "./clock-checks.js";
import { DOCTOR_GROUP, withDoctorTerm } from "./doctor-term.js";
import { checkEngine } from "./engine-checks.js";
import { type Finding, messageOf, tellFinding, wrong } from "./finding.js";
import { checkGroups } from "./group-checks.js";
import { checkAccessFiles, checkServer, type ServerOf } from "./server-checks.js";
import { checkWrites } from "./write-check.js";

interface DoctorFlags extends ConnectionFlags, OutputFlags {
  readonly natsMonitor?: string;
}

/** The shortest ttl of a group without a policy of its own. */
const DEFAULT_MIN_TTL_MS = 500;

export function doctorCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "doctor",
    "Check servers, store and groups and suggest fixes; exit code 1 if there is a problem or a warning",
  )
    .option(
      "--nats-monitor <urls>",
      "comma-separated monitoring URLs of the NATS servers (default: port 8222 of each)",
    )
    .action((flags: DoctorFlags) => doctor(shell, flags));
  command.addHelpText(
    "after",
    "\nGive both --server and --store to check the service and the engine behind it.\n" +
      `doctor writes to its own group, ${DOCTOR_GROUP}, and deletes the group afterwards.`,
  );
  return withExamples(
    command,
    "tenure doctor",
    "tenure doctor --server https://tenure.example:7420 --store etcd://a:2379,b:2379,c:2379/tenure",
    "tenure doctor --store embedded:./tenure-data --json",
  );
}

async function doctor(shell: Shell, flags: DoctorFlags): Promise<void> {
  shell.isJson = flags.json === true;
  const { target, storeUrl } = subjectsOf(shell, flags);
  const findings: Finding[] = [];
  const report = (...found: readonly Finding[]): void => {
    findings.push(...found);
    if (!shell.isJson) for (const each of found) tellFinding(shell, each);
  };
  if (storeUrl !== null) {
    const natsMonitors = flags.natsMonitor?.split(",") ?? null;
    report(...(await checkEngine(storeUrl, { natsMonitors, nowMs: shell.clock.wallMs() })));
  }
  const servers: readonly ServerOf[] =
    target.kind === "server"
      ? target.endpoints.map((url) => ({ url: url.replace(/\/$/, ""), access: target.access }))
      : [];
  const [first] = servers;
  if (first !== undefined) report(...checkAccessFiles(first, shell.clock.wallMs()));
  report(...(await Promise.all(servers.map((server) => checkServer(server, shell.clock.wallMs())))).flat());
  await examine(shell, target, servers, report);
  summarize(shell, findings);
}

/** Only this command accepts both --server and --store: the service, and the engine behind it. */
function subjectsOf(shell: Shell, flags: DoctorFlags): { target: Target; storeUrl: string | null } {
  if (flags.server !== undefined && flags.store !== undefined) {
    return { target: serverTarget(flags.server, flags, shell.env), storeUrl: flags.store };
  }
  const target = targetOf(flags, shell.env);
  return { target, storeUrl: target.kind === "store" ? target.url : null };
}

/** The checks that need an elector: writes, clocks, groups. */
async function examine(
  shell: Shell,
  target: Target,
  servers: readonly ServerOf[],
  report: (...found: readonly Finding[]) => void,
): Promise<void> {
  const about = target.kind === "server" ? "service" : "store";
  const { signal } = shell;
  try {
    const connection = await openTarget(target);
    try {
      const { elector } = connection;
      await elector.ping({ signal });
      const groups = await listGroups(elector, signal);
      const shortestTtlMs = Math.min(DEFAULT_MIN_TTL_MS, ...groups.map(({ policy }) => policy.minTtlMs));
      // What measures comes last: it takes seconds.
      report(...(await checkGroups({ servers, elector, groups, nowMs: shell.clock.wallMs(), signal })));
      report(...(await Promise.all(servers.map((server) => checkSkew(server, shell.clock)))).flat());
      report(
        ...(await withDoctorTerm(elector, signal, async (renewal) => {
          const rates = await Promise.all(
            servers.map((server) => checkRate(server, renewal, shell.clock, signal)),
          );
          const writes = await checkWrites(elector, renewal, shortestTtlMs, shell.clock, signal);
          return [...rates.flat(), ...writes];
        })),
      );
    } finally {
      await connection.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InvalidRequestError) throw error;
    report(
      wrong(about, `cannot be used: ${messageOf(error)}`, "fix the problems above, then run doctor again"),
    );
  }
}

async function listGroups(elector: ElectorAdmin, signal: AbortSignal): Promise<Group[]> {
  const groups: Group[] = [];
  for await (const group of allGroups(elector, undefined, signal)) {
    if (group.groupId !== DOCTOR_GROUP) groups.push(group);
  }
  return groups;
}

function summarize(shell: Shell, findings: readonly Finding[]): void {
  const count = (level: Finding["level"]): number => findings.filter((each) => each.level === level).length;
  const isWrong = count("wrong") + count("warning") > 0;
  const counts = [
    counted(count("wrong"), "problem"),
    counted(count("warning"), "warning"),
    counted(count("note"), "note"),
  ];
  shell.say(
    { ok: !isWrong, findings },
    shell.paint(isWrong ? "red" : "green", `${counts.join(", ")}, ${count("ok")} ok`),
  );
  shell.exitCode = isWrong ? EXIT.failed : EXIT.done;
}
