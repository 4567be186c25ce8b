/** One core's share of the work: takes jobs one by one, each with its own copy of the code under test. */
import { parentPort } from "node:worker_threads";
import { type CoreModule, loadCore } from "./core-module.js";
import { loadCopy } from "./mutants/mutant-loader.js";
import { MUTANTS } from "./mutants/mutants.js";
import type { Answer, Job } from "./pool.js";
import { runSchedules } from "./run-schedules.js";

const loaded = new Map<string, Promise<CoreModule>>();

function load({ mutant: name, core }: Job): Promise<CoreModule> {
  const key = `${core ?? ""} ${name ?? ""}`;
  let modules = loaded.get(key);
  if (modules === undefined) {
    const mutant = MUTANTS.find((each) => each.name === name);
    if (name !== undefined && mutant === undefined) throw new Error(`no mutant ${name}`);
    modules = mutant === undefined && core === undefined ? loadCore() : loadCopy(core, mutant);
    loaded.set(key, modules);
  }
  return modules;
}

async function answer(job: Job): Promise<Answer> {
  try {
    return { report: await runSchedules(await load(job), job) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on("message", (job: Job) => {
  void answer(job).then((answered) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
    parentPort?.postMessage(answered);
  });
});
