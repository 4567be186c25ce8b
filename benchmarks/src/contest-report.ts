import type { ContestResult, Turn } from "./contest.js";
import { median } from "./median.js";
import { table } from "./table.js";
import { verdict } from "./verdict.js";

/** `other`: the column of the other contestant; `against`: what it is, in a sentence. */
export function report(results: readonly ContestResult[], other: string, against: string): void {
  const head = ["", "tenure, /s", `${other}, /s`, "ratio", "p50 / p99, ms", other, "CPU, µs each", other];
  console.log(table(head, results.map(rowOf)));
  for (const { what, ratio, target } of results) {
    if (target === null) continue;
    console.log(verdict(`${what}, of ${against}`, ratio.toFixed(2), `at least ${target}`, ratio >= target));
  }
}

function rowOf({ what, tenure, other, ratio }: ContestResult): string[] {
  const of = (turns: readonly Turn[], field: keyof Turn) => median(turns.map((turn) => turn[field]));
  const rate = (turns: readonly Turn[]) => Math.round(of(turns, "perSecond")).toLocaleString("en");
  const ms = (turns: readonly Turn[]) =>
    `${of(turns, "p50Ms").toFixed(1)} / ${of(turns, "p99Ms").toFixed(1)}`;
  const us = (turns: readonly Turn[]) => of(turns, "cpuUs").toFixed(0);
  return [what, rate(tenure), rate(other), ratio.toFixed(2), ms(tenure), ms(other), us(tenure), us(other)];
}
