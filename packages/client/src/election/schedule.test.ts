import { expect, test } from "vitest";
import { runSchedule } from "./schedule.test-kit.js";

/** `TENURE_PROPERTY_RUNS` adds more. */
const WORLDS = Number(process.env["TENURE_PROPERTY_RUNS"] ?? 30);

test("in random schedules no two nodes lead together, no term is led twice, work ends in time, and finally one leads", async () => {
  let terms = 0;
  let looks = 0;
  const failures: string[] = [];
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    await runSchedule(seed).then(
      (tally) => {
        terms += tally.terms;
        looks += tally.looks;
      },
      (error: unknown) => failures.push(`seed ${seed}: ${String(error)}`),
    );
  }
  expect(failures).toEqual([]);
  // The schedules must still contain faults.
  expect(terms).toBeGreaterThan(5 * WORLDS);
  expect(looks).toBeGreaterThan(50 * WORLDS);
}, 600_000);

test("in random schedules, telemetry and hooks that throw, reject, stall or call the election break no promise", async () => {
  let terms = 0;
  const failures: string[] = [];
  for (let seed = 1; seed <= WORLDS / 2; seed += 1) {
    await runSchedule(seed, { unruly: true }).then(
      (tally) => (terms += tally.terms),
      (error: unknown) => failures.push(`seed ${seed}: ${String(error)}`),
    );
  }
  expect(failures).toEqual([]);
  expect(terms).toBeGreaterThan(2 * WORLDS);
}, 600_000);
