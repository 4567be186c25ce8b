/** One core's share of the work on peers: takes jobs one by one, each with its own copy of the protocol. */
import { parentPort } from "node:worker_threads";
import type { Answer } from "../pool.js";
import { loadPeerMutant } from "./peer-mutant-loader.js";
import { peerMutantNamed } from "./peer-mutants.js";
import { loadPeers, type PeerModule } from "./peer-module.js";
import type { PeerJob } from "./peer-survey.js";
import { type PeerBatchReport, runPeerSchedules } from "./run-peer-schedules.js";

const loaded = new Map<string, Promise<PeerModule>>();

function load(name = ""): Promise<PeerModule> {
  const modules = loaded.get(name) ?? (name === "" ? loadPeers() : loadPeerMutant(peerMutantNamed(name)));
  loaded.set(name, modules);
  return modules;
}

async function answer(job: PeerJob): Promise<Answer<PeerBatchReport>> {
  try {
    return { report: await runPeerSchedules(await load(job.mutant), job) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.on("message", (job: PeerJob) => {
  void answer(job).then((answered) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker, not a window
    parentPort?.postMessage(answered);
  });
});
