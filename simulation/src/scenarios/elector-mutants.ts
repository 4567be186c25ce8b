/** Rules of core that only scenarios guard, switched off: no checker of the simulation judges them. */
import { CORE_SIMULATION } from "../core-simulation.js";
import type { Mutant } from "../harness/mutant.js";
import { mutantNamed } from "../harness/simulation.js";

const SCENARIO_MUTANTS: readonly Mutant[] = [
  {
    name: "transfer-outlasts-expiry",
    rule: "a transfer does not outlast a lease that expires",
    patches: [
      {
        file: "core/rules/terms.ts",
        find: 'transfer: how === "expired" ? null : reserved(now.transfer)',
        replace: "transfer: reserved(now.transfer)",
      },
    ],
  },
  {
    name: "gone-are-elected",
    rule: "a waiting caller that has hung up is not elected",
    patches: [
      {
        file: "core/elector/waiter.ts",
        find: "return this.signal?.aborted === true;",
        replace: "return false;",
      },
      {
        file: "core/elector/campaign-queue.ts",
        find: "if (!this.#takeOut(waiter) && !this.#isExpectedBack(waiter)) return;",
        replace: "return;",
      },
    ],
  },
  {
    name: "leads-past-its-deadline",
    rule: "a leader acts until its deadline and no longer",
    patches: [
      {
        file: "core/leader/led-term.ts",
        find: "this.#monotonicDeadlineMs - this.#clock.monotonicMs(),",
        replace: "Number.POSITIVE_INFINITY,",
      },
      {
        file: "core/leader/led-term.ts",
        find: "this.#bootDeadlineMs - this.#clock.bootMs(),",
        replace: "Number.POSITIVE_INFINITY,",
      },
    ],
  },
  {
    name: "renewed-by-anybody",
    rule: "only the holder renews, in its own term",
    patches: [{ file: "core/rules/renew.ts", find: "!claims(record, claim) ||", replace: "" }],
  },
  {
    name: "gap-unreported",
    rule: "a watcher that misses events which are no longer kept gets a RESYNC",
    patches: [
      {
        file: "core/elector/group-watch.ts",
        find: "const resync = state(true); cursor = resync.cursor; yield resync;",
        replace: "cursor = state(true).cursor;",
      },
    ],
  },
];

/** A mutant that a scenario of core names. */
export function electorMutant(name: string): Mutant {
  return SCENARIO_MUTANTS.find((mutant) => mutant.name === name) ?? mutantNamed(CORE_SIMULATION, name);
}
