import { defineConfig } from "vitest/config";

/** These hold bounds of time or cost to what was measured, and so run one at a time with nothing beside them. */
const MEASURED = [
  "packages/cli/src/failover.test.ts",
  "packages/cli/src/roles.test.ts",
  "packages/cli/src/coordinator/coordinator.test.ts",
  "packages/cli/src/elections/{handover,worker-heart}.test.ts",
  "packages/client/src/election/is-leader.test.ts",
  "packages/dashboard/src/load.test.ts",
];

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
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
