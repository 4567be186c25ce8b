import { defineConfig } from "vitest/config";

/** `npm run chaos` holds bounds of time, and so runs one file at a time. */
const isChaos = process.env["TENURE_CHAOS"] === "1";

/** These measure the heap of their process, in which the objects of other files would count. */
const HEAP = ["packages/core/src/elector/memory.test.ts"];

/** Their files share one process, which loads the code once. */
const SHARED = [
  "packages/{api,cli,client,coordinator,core,dashboard,fence,peers,server,stores}/src/**/*.test.ts",
  "examples/src/**/*.test.ts",
];

export default defineConfig({
  test: {
    setupFiles: ["scripts/property-runs.mjs"],
    pool: "forks",
    globals: false,
    // Most tests wait: for engines, processes, leases.
    maxWorkers: isChaos ? 1 : 6,
    // Guards against hanging only, far above what a test takes on a machine that is busy with other work.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    // One line per file; below it the tests that took longer than this.
    reporters: ["default"],
    slowTestThreshold: 1_000,
    projects: [
      { extends: true, test: { name: "shared", include: SHARED, exclude: HEAP, isolate: false } },
      {
        extends: true,
        test: {
          name: "separate",
          include: [...HEAP, "simulation/src/**/*.test.ts", "scripts/**/*.test.mjs"],
        },
      },
    ],
  },
});
