/**
 * Counts what vitest ran and writes it, as JSON, to the file named by TENURE_TALLY_FILE. Where the output is not a terminal,
 * it also prints each failure at once, and the progress every 30 seconds.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";

const PROGRESS_MS = 30_000;

export default class TallyReporter {
  #progress = null;
  #timer = undefined;

  onTestRunStart(specifications) {
    if (process.stdout.isTTY) return;
    this.#progress = new Progress(specifications.length, performance.now());
    this.#timer = setInterval(() => console.log(this.#progress.line(performance.now())), PROGRESS_MS).unref();
  }

  onTestModuleStart(module) {
    this.#progress?.started(nameOf(module), performance.now());
  }

  onTestModuleEnd(module) {
    this.#progress?.ended(nameOf(module));
  }

  onTestCaseResult(test) {
    if (this.#progress === null) return;
    const { state, errors = [] } = test.result();
    this.#progress.tested(state);
    if (state === "failed")
      console.log(`FAILED ${nameOf(test.module)} > ${test.fullName}: ${firstLine(errors[0]?.message)}`);
  }

  onTestRunEnd(modules, unhandledErrors) {
    clearInterval(this.#timer);
    const file = process.env.TENURE_TALLY_FILE;
    if (file !== undefined) writeFileSync(file, JSON.stringify(tally(modules, unhandledErrors)));
  }
}

/** Of a run of the tests: `2 min 30 s: 120 of 418 files, 2841 tests, 0 failed; longest: a.test.ts (40 s)`. */
export class Progress {
  #files;
  #startMs;
  #done = 0;
  #tests = 0;
  #failures = 0;
  #running = new Map();

  constructor(files, startMs) {
    this.#files = files;
    this.#startMs = startMs;
  }

  started(file, nowMs) {
    this.#running.set(file, nowMs);
  }

  ended(file) {
    this.#running.delete(file);
    this.#done += 1;
  }

  tested(state) {
    this.#tests += 1;
    if (state === "failed") this.#failures += 1;
  }

  line(nowMs) {
    const seconds = Math.round((nowMs - this.#startMs) / 1000);
    const [longest] = this.#running;
    const running =
      longest === undefined ? "" : `; longest: ${longest[0]} (${Math.round((nowMs - longest[1]) / 1000)} s)`;
    return (
      `${Math.floor(seconds / 60)} min ${seconds % 60} s: ${this.#done} of ${this.#files} files, ` +
      `${this.#tests} tests, ${this.#failures} failed${running}`
    );
  }
}

function nameOf(module) {
  return relative(module.project.config.root, module.moduleId);
}

function firstLine(message = "") {
  return message.split("\n", 1)[0];
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
