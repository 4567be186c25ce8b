import { defineConfig } from "vitest/config";

/** Tests against real engines mostly wait for them. */
const ENGINES = [
  "packages/stores/src/{etcd,nats,postgres,zookeeper}/**/*.test.ts",
  "packages/cli/src/engines/*.test.ts",
];

export default defineConfig({
  test: {
    setupFiles: ["scripts/property-runs.mjs"],
    // A process per file: a test that leaves a handle open or breaks a global harms no other.
    pool: "forks",
    globals: false,
    // Guards against hanging only. A test that is long on purpose says so itself.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One line per file; below it the tests that took longer than this.
    reporters: ["default"],
    slowTestThreshold: 1_000,
    projects: [
      {
        extends: true,
        test: {
          // One file at a time: some of these measure time.
          name: "alone",
          include: [
            "packages/*/src/**/*.test.ts",
            "simulation/src/**/*.test.ts",
            "examples/src/**/*.test.ts",
            "scripts/**/*.test.mjs",
          ],
          exclude: ENGINES,
          maxWorkers: 1,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: "engines", include: ENGINES, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
