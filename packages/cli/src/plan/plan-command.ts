import { DEFAULT_POLICY, TTL_BOUNDS_MS } from "@tenure/core";
import { checkInteger } from "@tenure/core/internal";
import type { Command } from "commander";
import { tellFinding } from "../doctor/finding.js";
import { tellDuration } from "../frame/duration.js";
import { durationOption, newCommand, outputOptions, withExamples } from "../frame/elector-command.js";
import { counted, parseWhole } from "../frame/numbers.js";
import { EXIT, type OutputFlags, type Shell } from "../frame/shell.js";
import { judge, shortestTtlMs } from "./judge.js";
import { type Plan, type PlanInput, predict, type Span, type Survived } from "./predict.js";

interface PlanFlags extends OutputFlags {
  readonly ttl: number;
  readonly rtt: number;
  readonly write: number;
  readonly takeoverDelay: number;
  readonly groups: number;
  readonly nodes: number;
  readonly servers: number;
}

const MAX_MS = 3_600_000;
const BOUNDS = {
  ttl: { least: TTL_BOUNDS_MS.min, most: TTL_BOUNDS_MS.max },
  rtt: { least: 0, most: MAX_MS },
  write: { least: 0, most: MAX_MS },
  takeoverDelay: { least: 0, most: MAX_MS },
  groups: { least: 1, most: 10_000_000 },
  nodes: { least: 1, most: 1_000_000 },
  servers: { least: 0, most: 1000 },
} as const;

export function planCommand(shell: Shell): Command {
  const command = outputOptions(
    newCommand(
      shell,
      "plan",
      "Predict failover time, load and false failovers of a ttl; connects to nothing",
    ),
  )
    .addOption(durationOption("--ttl <duration>", "duration of the lease", "5s"))
    .addOption(
      durationOption("--rtt <duration>", "round trip between a node and a server; see --servers", "1ms"),
    )
    .addOption(
      durationOption("--write <duration>", "one write to the store, as tenure doctor measures it", "5ms"),
    )
    .addOption(
      durationOption(
        "--takeover-delay <duration>",
        "takeover delay of the group's policy",
        tellDuration(DEFAULT_POLICY.takeoverDelayMs),
      ),
    )
    .option("--groups <n>", "number of groups", parseWhole, 1)
    .option("--nodes <n>", "number of processes; each is a candidate for every group", parseWhole, 3)
    .option(
      "--servers <n>",
      "servers of the service; 0: nodes use the store, and --rtt leads to it",
      parseWhole,
      1,
    )
    .action((flags: PlanFlags) => {
      shell.isJson = flags.json === true || flags.output === "json";
      for (const [name, { least, most }] of Object.entries(BOUNDS)) {
        const flag = `--${name.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`)}`;
        checkInteger(flags[name as keyof typeof BOUNDS], flag, least, most);
      }
      plan(shell, inputOf(flags));
    });
  return withExamples(
    command,
    "tenure plan --ttl 10s --rtt 30ms",
    "tenure plan --ttl 5s --groups 1000 --nodes 4 --servers 3",
    "tenure plan --ttl 3s --rtt 80ms --servers 0 --json",
  );
}

function inputOf({ ttl, rtt, write, takeoverDelay, groups, nodes, servers }: PlanFlags): PlanInput {
  return { ttlMs: ttl, rttMs: rtt, writeMs: write, takeoverDelayMs: takeoverDelay, groups, nodes, servers };
}

function plan(shell: Shell, input: PlanInput): void {
  const predicted = predict(input);
  const findings = judge(input, predicted);
  const isOk = findings.every(({ level }) => level === "note");
  const shortestMs = shortestTtlMs(input);
  shell.say(
    { ok: isOk, ...snakeCased(input), ...snakeCased(predicted), shortest_ttl_ms: shortestMs, findings },
    ...shell.table(rowsOf(input, predicted)),
    "",
  );
  if (!shell.isJson) {
    for (const finding of findings) tellFinding(shell, finding);
    const shortest = shortestMs === null ? "none up to 60s" : tellDuration(shortestMs);
    shell.say(null, `Shortest ttl for this network and store: ${shortest}`);
  }
  shell.exitCode = isOk ? EXIT.done : EXIT.failed;
}

function rowsOf(
  { groups, nodes, servers }: PlanInput,
  { times, crash, stop, pause, outage, load }: Plan,
): string[][] {
  const rows = [
    ["heartbeat", `every ${ms(times.heartbeatIntervalMs)}, answered after ${ms(times.answerMs)}`],
    [
      "",
      `reported as failed after ${ms(times.connectionTimeoutMs)}, given up after ${ms(times.answerLimitMs)}`,
    ],
    ["no leader after a crash", spanText(crash)],
    ["no leader after a stop", spanText(stop)],
    ["leader survives a pause", survivedText(pause)],
    ["leader survives an outage", survivedText(outage)],
    ["load", `${counted(groups, "group")}, ${counted(nodes, "node")}, ${counted(servers, "server")}`],
    ["  renewals", `${rate(load.renewalsPerSecond)} in ${rate(load.renewalRequestsPerSecond)} requests`],
    [
      "  waiting candidates",
      `${rate(load.waitingRequestsPerSecond)} requests, ${load.waitingCampaigns} waiting`,
    ],
    ["  store", `${rate(load.storeRecordsPerSecond)} records in ${rate(load.storeWritesPerSecond)} writes`],
  ];
  return servers > 0 ? rows : rows.filter(([name]) => name !== "  waiting candidates");
}

function spanText({ bestMs, typicalMs, worstMs }: Span): string {
  return `best ${ms(bestMs)}, typical ${ms(typicalMs)}, worst ${ms(worstMs)}`;
}

function survivedText({ alwaysMs, neverMs }: Survived): string {
  return `always up to ${ms(alwaysMs)}, never more than ${ms(neverMs)}`;
}

function ms(value: number): string {
  return tellDuration(Math.round(value));
}

function rate(perSecond: number): string {
  return `${perSecond >= 10 ? Math.round(perSecond) : Number(perSecond.toPrecision(2))}/s`;
}

/** The names of JSON, and numbers with a decimal at most. */
function snakeCased(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      typeof each === "number" ? Math.round(each * 10) / 10 : snakeCased(each as object),
    ]),
  );
}
