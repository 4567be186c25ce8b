/**
 * What one of many costs, with few and with many of them: waiting campaigns, leases that end together, watches, pages of
 * groups. An elector over a store in memory, without HTTP: what is seen is the elector's own.
 *
 * Each size has a process of its own, so that heaps do not mix, and they take turns, so that whatever else the machine
 * does hits all of them. All sizes have equally many in all, so that they fill as much memory. CPU time and not wall time
 * is counted; a ratio is the median of those of all rounds.
 */
import { Child } from "./child.js";
import type { Cliff, Figures } from "./cliffs/cliff.js";
import { leases } from "./cliffs/leases.js";
import { pages } from "./cliffs/pages.js";
import { waiters } from "./cliffs/waiters.js";
import { watches } from "./cliffs/watches.js";
import { type Benchmark, median, table, verdict } from "./report.js";

export const CLIFFS: readonly Cliff[] = [waiters, leases, watches, pages];

const TARGET = 2;
const ROUNDS = 5;
/** What falls off a cliff is measured fewer times. */
const MAX_CLIFF_MS = 120_000;

export const cliffs: Benchmark = {
  name: "cliffs",
  about: "CPU time per waiter, ended lease, watch and page of groups, with few and with many of them",
  async run() {
    let missed = 0;
    for (const cliff of CLIFFS) missed += report(cliff, await measure(cliff));
    console.log(missed === 0 ? "all targets met" : `${missed} targets MISSED`);
    return missed === 0 ? "met" : "missed";
  },
};

/** By size, one after the other as the rounds were. */
type Measured = readonly { readonly size: number; readonly rounds: Figures[] }[];

async function measure({ name, sizes }: Cliff): Promise<Measured> {
  const measured = sizes.map((size) => ({
    size,
    rounds: [] as Figures[],
    child: new Child<object, Figures>("cliffs/cliff-child.js", [name, String(size)], ["--expose-gc"]),
  }));
  const beganMs = performance.now();
  try {
    for (let round = -1; round < ROUNDS; round++) {
      // Each goes first every other time; the first round warms up.
      for (const { rounds, child } of round % 2 === 0 ? measured : measured.toReversed()) {
        const figures = await child.ask({});
        if (round >= 0) rounds.push(figures);
      }
      if (round >= 0 && performance.now() - beganMs > MAX_CLIFF_MS) break;
    }
  } finally {
    await Promise.all(measured.map(({ child }) => child.end()));
  }
  return measured;
}

/** Prints what was measured; returns how many targets were missed. */
function report({ of, sizes }: Cliff, measured: Measured): number {
  const [smallest, ...larger] = measured;
  if (smallest === undefined) throw new Error("a cliff has sizes");
  const names = Object.keys(smallest.rounds[0] ?? {});
  const ratiosOf = (name: string) =>
    smallest.rounds.map((figures, round) =>
      Math.max(...larger.map(({ rounds }) => (rounds[round]?.[name] ?? NaN) / (figures[name] ?? NaN))),
    );
  const rows = names.map((name) => {
    const ratios = ratiosOf(name);
    return [
      name,
      ...measured.map(({ rounds }) => median(rounds.map((figures) => figures[name] ?? NaN)).toFixed(1)),
      `${median(ratios).toFixed(2)}×`,
      `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`,
    ];
  });
  const head = [`each ${of}, µs CPU`, ...sizes.map((size) => size.toLocaleString("en")), "ratio", "rounds"];
  console.log(table(head, rows));
  const verdicts = names.map((name) => ({ name, ratio: median(ratiosOf(name)) }));
  for (const { name, ratio } of verdicts) {
    console.log(verdict(name, `${ratio.toFixed(2)}×`, `within ${TARGET}×`, ratio <= TARGET));
  }
  console.log();
  return verdicts.filter(({ ratio }) => !(ratio <= TARGET)).length;
}
