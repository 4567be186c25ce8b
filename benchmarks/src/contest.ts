/**
 * Two contestants that take turns at the same work, each going first every other round: whatever else the machine does
 * meanwhile slows both down, and the median of the rounds' ratios stays what it is.
 */
import { median, table, verdict } from "./report.js";

/** What callers saw in one turn. */
export interface Measured {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** `perCall`: how many of what is counted one call does. Latencies stay those of a call. */
export function measuredOf(latenciesMs: number[], tookMs: number, perCall: number): Measured {
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.ceil(share * latenciesMs.length) - 1] ?? Number.NaN;
  const count = latenciesMs.length * perCall;
  return { count, perSecond: (count * 1000) / tookMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

export interface Turn extends Measured {
  /** CPU time of the contestant's process for each of what is counted: what noise on the machine changes least. */
  readonly cpuUs: number;
}

export type Contestant = (turnMs: number) => Promise<Turn>;

export interface Contest {
  readonly what: string;
  readonly tenure: Contestant;
  readonly other: Contestant;
  /** The least ratio of Tenure to the other; `null` where there is none to reach. */
  readonly target: number | null;
  /** Which ratio the target is for. @defaultValue `"ratio"`, that of the rates */
  readonly targetOf?: "ratio" | "cpuRatio";
}

export interface ContestResult extends Pick<Contest, "what" | "target" | "targetOf"> {
  readonly tenure: readonly Turn[];
  readonly other: readonly Turn[];
  readonly ratio: number;
  /** CPU time of the other divided by that of Tenure: above 1, Tenure is cheaper. */
  readonly cpuRatio: number;
}

const ROUNDS = 7;
const TURN_MS = 1000;
const WARM_UP_MS = 3000;
const TRIALS = 3;

export async function warmUp(...contestants: readonly Contestant[]): Promise<void> {
  for (const contestant of contestants) await contestant(WARM_UP_MS);
}

export async function hold({
  what,
  target,
  targetOf = "ratio",
  ...contestants
}: Contest): Promise<ContestResult> {
  const [tenure = [], other = []] = await takeTurns([contestants.tenure, contestants.other], ROUNDS);
  const ratioOf = (of: (mine: Turn, others: Turn) => number) =>
    median(tenure.flatMap((mine, round) => (other[round] === undefined ? [] : of(mine, other[round]))));
  return {
    what,
    target,
    targetOf,
    tenure,
    other,
    ratio: ratioOf((mine, others) => mine.perSecond / others.perSecond),
    cpuRatio: ratioOf((mine, others) => others.cpuUs / mine.cpuUs),
  };
}

/** The index of the one with the highest rate, in a few turns each. */
export async function fastestOf(contestants: readonly Contestant[]): Promise<number> {
  const turns = await takeTurns(contestants, TRIALS);
  const rates = turns.map((each) => median(each.map(({ perSecond }) => perSecond)));
  return rates.indexOf(Math.max(...rates));
}

async function takeTurns(contestants: readonly Contestant[], rounds: number): Promise<readonly Turn[][]> {
  const turns = contestants.map((): Turn[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = [...contestants.entries()];
    for (const [index, contestant] of round % 2 === 0 ? order : order.toReversed()) {
      turns[index]?.push(await contestant(TURN_MS));
    }
  }
  return turns;
}

/** `other`: the column of the other contestant; `against`: what it is, in a sentence. */
export function report(results: readonly ContestResult[], other: string, against: string): void {
  const head = [
    "",
    "tenure, /s",
    `${other}, /s`,
    "ratio",
    "p50 / p99, ms",
    other,
    "CPU, µs each",
    other,
    "CPU ratio",
  ];
  console.log(table(head, results.map(rowOf)));
  for (const { what, target, targetOf = "ratio", ...ratios } of results) {
    if (target === null) continue;
    const ratio = ratios[targetOf];
    const of = targetOf === "ratio" ? `of ${against}` : `CPU of ${against} to it`;
    console.log(verdict(`${what}, ${of}`, ratio.toFixed(2), `at least ${target}`, ratio >= target));
  }
}

function rowOf({ what, tenure, other, ratio, cpuRatio }: ContestResult): string[] {
  const of = (turns: readonly Turn[], field: keyof Turn) => median(turns.map((turn) => turn[field]));
  const rate = (turns: readonly Turn[]) => Math.round(of(turns, "perSecond")).toLocaleString("en");
  const ms = (turns: readonly Turn[]) =>
    `${of(turns, "p50Ms").toFixed(1)} / ${of(turns, "p99Ms").toFixed(1)}`;
  const us = (turns: readonly Turn[]) => of(turns, "cpuUs").toFixed(0);
  const costs = [us(tenure), us(other), cpuRatio.toFixed(2)];
  return [what, rate(tenure), rate(other), ratio.toFixed(2), ms(tenure), ms(other), ...costs];
}
