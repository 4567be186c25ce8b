import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "simulation/src/**/*.test.ts", "scripts/**/*.test.mjs"],
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
  },
});
