import { defineConfig } from "vitest/config";

/** These measure what something costs, and so run one at a time with nothing beside them. */
const MEASURED = ["packages/dashboard/src/load.test.ts"];

/** `npm run chaos` holds bounds of time, and so runs one file at a time. */
const isChaos = process.env["TENURE_CHAOS"] === "1";

export default defineConfig({
  test: {
    setupFiles: ["scripts/property-runs.mjs"],
    // A process per file: a test that leaves a handle open or breaks a global harms no other.
    pool: "forks",
    globals: false,
    // Guards against hanging only, far above what a test takes on a machine that is busy with other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One line per file; below it the tests that took longer than this.
    reporters: ["default"],
    slowTestThreshold: 1_000,
    projects: [
      {
        extends: true,
        test: { name: "alone", include: MEASURED, maxWorkers: 1, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          // Most of these wait: for engines, processes, leases.
          name: "together",
          include: [
            "packages/*/src/**/*.test.ts",
            "simulation/src/**/*.test.ts",
            "examples/src/**/*.test.ts",
            "scripts/**/*.test.mjs",
          ],
          exclude: MEASURED,
          maxWorkers: isChaos ? 1 : 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
