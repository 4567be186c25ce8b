import { checkInteger } from "@tenure/core/internal";
import type { Command } from "commander";
import { EXIT, type ExitCode, type OutputFlags, type Shell } from "../frame/shell.js";
import type { Connection, ConnectionFlags } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { durationOption, electorCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole, percentile } from "../frame/numbers.js";
import { table } from "../frame/text.js";
import { BenchGroups } from "./bench-groups.js";
import { type Failover, measureFailover } from "./failover.js";
import { Progress } from "./progress.js";
import { measureThroughput, type Throughput } from "./throughput.js";

interface BenchFlags extends ConnectionFlags, OutputFlags {
  readonly groups: number;
  readonly duration: number;
  readonly rate: number;
  readonly rounds: number;
  readonly ttl: number;
  readonly prefix: string;
}

/** Limits of a benchmark against a service in use: the load of a busy service at most, and for a short time. */
const BOUNDS = {
  groups: { least: 1, most: 500 },
  duration: { least: 100, most: 60_000 },
  rate: { least: 1, most: 5000 },
  rounds: { least: 1, most: 50 },
  ttl: { least: 500, most: 60_000 },
} as const;

export function benchCommand(shell: Shell): Command {
  const command = electorCommand(
    shell,
    "bench",
    "Measure failover and throughput of your own server or store",
  )
    .option("--groups <n>", "number of groups led at the same time, up to 500", parseWhole, 50)
    .addOption(durationOption("--duration <duration>", "how long to send renewals, up to 60s", "5s"))
    .option("--rate <n>", "renewals per second, up to 5000", parseWhole, 500)
    .option("--rounds <n>", "number of resignations and of crashes to measure, up to 50", parseWhole, 5)
    .addOption(durationOption("--ttl <duration>", "ttl of the leaders that crash", "1s"))
    .option("--prefix <text>", "prefix of the groups that the benchmark creates and deletes", "tenure-bench")
    .action((flags: BenchFlags) => {
      for (const [name, { least, most }] of Object.entries(BOUNDS)) {
        checkInteger(flags[name as keyof typeof BOUNDS], `--${name}`, least, most);
      }
      return shell.connected(flags, (connection) => bench(shell, connection, flags));
    });
  return withExamples(
    command,
    "tenure bench",
    "tenure bench --store etcd://a:2379,b:2379,c:2379/tenure --rate 2000 --duration 20s",
    "tenure bench --json",
  );
}

async function bench(shell: Shell, { elector }: Connection, flags: BenchFlags): Promise<ExitCode> {
  const { clock, signal } = shell;
  const progress = new Progress(shell);
  const groups = await BenchGroups.make(elector, flags.prefix, flags.groups, signal);
  try {
    const throughput = await measureThroughput({
      elector,
      clock,
      groupIds: groups.ids,
      ratePerSecond: flags.rate,
      durationMs: flags.duration,
      signal,
      progress: (share) => progress.show("renewals", share),
    });
    const failover = await measureFailover({
      elector,
      clock,
      groupId: groups.failoverId,
      handovers: flags.rounds,
      deaths: flags.rounds,
      ttlMs: flags.ttl,
      signal,
      progress: (share) => progress.show("failover", share),
    });
    progress.clear();
    report(shell, flags, throughput, failover);
    return throughput.failures === 0 ? EXIT.done : EXIT.failed;
  } finally {
    progress.clear();
    await groups.remove();
  }
}

function report(shell: Shell, flags: BenchFlags, throughput: Throughput, failover: Failover): void {
  const perSecond = throughput.renewals / (throughput.elapsedMs / 1000);
  const { electionsMs, failures } = throughput;
  const rows = [
    ["elections", `${flags.groups} in ${tellDuration(electionsMs)}`, ""],
    ["renewals", `${perSecond.toFixed(0)}/s of ${flags.rate}/s requested`, spread(throughput.latenciesMs)],
    ["handover", "from a resignation to the next leader", spread(failover.handoversMs)],
    [
      "failover",
      `from a crash with a ttl of ${tellDuration(flags.ttl)} to the next leader`,
      spread(failover.deathsMs),
    ],
    ...(failures === 0 ? [] : [["failed", `${failures} renewals were refused or timed out`, ""]]),
  ];
  shell.say(
    {
      groups: flags.groups,
      elections_ms: rounded(electionsMs),
      renewals_per_second: rounded(perSecond),
      renewal_failures: failures,
      renewal_ms: percentiles(throughput.latenciesMs),
      handover_ms: percentiles(failover.handoversMs),
      failover_ttl_ms: flags.ttl,
      failover_ms: percentiles(failover.deathsMs),
    },
    ...table(rows),
  );
}

function spread(valuesMs: readonly number[]): string {
  const at = (share: number): string => tellDuration(rounded(percentile(valuesMs, share)));
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, slowest ${at(1)}`;
}

function percentiles(valuesMs: readonly number[]): Readonly<Record<string, number>> {
  const at = (share: number): number => rounded(percentile(valuesMs, share));
  return { count: valuesMs.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
