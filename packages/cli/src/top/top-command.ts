import { LinkedController } from "@tenure/core/internal";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import { ClockOffset } from "../frame/clock-offset.js";
import type { Connection, ConnectionFlags, Target } from "../frame/connection.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { probe } from "../frame/http-probe.js";
import { Collector } from "./collector.js";
import { drawPlain } from "./draw.js";
import { LiveTop, screenOf } from "./live-top.js";
import { arranged, FIRST_VIEW } from "./state.js";

interface TopFlags extends ConnectionFlags, OutputFlags {
  readonly interval: number;
  readonly prefix?: string;
}

const MIN_INTERVAL_MS = 250;

export function topCommand(shell: Shell): Command {
  const command = electorCommand(shell, "top", "Show all groups, live; without a terminal, print them once")
    .addOption(durationOption("--interval <duration>", "refresh interval", "1s"))
    .option("--prefix <text>", "show only groups whose id starts with this prefix")
    .action((flags: TopFlags) => shell.connected(flags, (connection) => top(shell, connection, flags)));
  return withExamples(
    command,
    "tenure top",
    "tenure top --server https://tenure.example:7420 --interval 2s",
    "tenure top | head",
  );
}

async function top(shell: Shell, connection: Connection, flags: TopFlags): Promise<ExitCode> {
  const offset = new ClockOffset();
  const ending = new LinkedController(shell.signal);
  const collector = new Collector({
    elector: connection.elector,
    clock: shell.clock,
    target: nameOf(connection.target),
    prefix: flags.prefix,
    signal: ending.signal,
    offsetMs: () => offset.offsetMs ?? 0,
  });
  const look = async (): Promise<void> => {
    await Promise.all([collector.refresh(), compareClocks(offset, connection.target, ending.signal)]);
  };
  const isLive = shell.isInteractive && !shell.isJson;
  if (!isLive) return once(shell, connection, collector, look);
  const intervalMs = Math.max(MIN_INTERVAL_MS, flags.interval);
  await new LiveTop({ shell, elector: connection.elector, collector, look, intervalMs, ending }).run();
  return EXIT.done;
}

async function once(
  shell: Shell,
  { elector }: Connection,
  collector: Collector,
  look: () => Promise<void>,
): Promise<ExitCode> {
  // Fails here, with the same message as every command, if the server or the store does not answer.
  await elector.ping({ signal: shell.signal });
  await look();
  await collector.details(
    collector.rows().map(({ groupId }) => groupId),
    Number.POSITIVE_INFINITY,
  );
  const screen = screenOf(shell, collector, FIRST_VIEW);
  const groups = arranged(screen.rows, FIRST_VIEW).map((row) => ({
    group_id: row.groupId,
    state: row.state.replaceAll(" ", "_"),
    leader_node_id: row.leader,
    term: row.term,
    lease_left_ms: row.leftMs === null ? null : Math.round(row.leftMs),
    changes_per_hour: row.changesPerHour,
    members: row.members,
    paused: row.state === "paused",
    held_back: row.state === "held back" || row.state === "deposed",
  }));
  shell.say({ store_round_trip_ms: screen.health.roundTripMs, groups }, ...drawPlain(screen));
  return EXIT.done;
}

/** Leases end by the server's clock. Without its offset only the bars are drawn wrong, so a failure is ignored. */
async function compareClocks(offset: ClockOffset, target: Target, signal: AbortSignal): Promise<void> {
  if (target.kind === "store") return;
  const [endpoint = ""] = target.endpoints;
  await probe(`${endpoint.replace(/\/$/, "")}/healthz`, { ...target.access, signal }).then(
    (probed) => offset.take(probed),
    () => {},
  );
}

/** A store's URL may contain a password, so it is not shown as it is. */
function nameOf(target: Target): string {
  if (target.kind === "server") return target.endpoints.join(",");
  return target.url.replace(/\/\/[^/?#@]*@/, "//");
}
