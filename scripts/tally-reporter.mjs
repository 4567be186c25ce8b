/** Counts what vitest ran and writes it, as JSON, to the file named by TENURE_TALLY_FILE. */
import { writeFileSync } from "node:fs";

export default class TallyReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const file = process.env.TENURE_TALLY_FILE;
    if (file !== undefined) writeFileSync(file, JSON.stringify(tally(modules, unhandledErrors)));
  }
}

/** A file that cannot be loaded, a hook that throws and an error nobody caught each count as one failure. */
export function tally(modules, unhandledErrors) {
  const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
  for (const module of modules) {
    counts.failed += module.errors().length;
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      counts[state === "passed" || state === "failed" ? state : "skipped"] += 1;
    }
  }
  return counts;
}
