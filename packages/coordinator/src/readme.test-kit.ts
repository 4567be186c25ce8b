/** The examples of docs/COORDINATOR.md, word for word. */
import type { Clock, Elector, ElectorAdmin } from "@tenure/core";
import {
  type ChildSpec,
  ClusterHealth,
  CoordinatorCandidate,
  type Dispatch,
  functionChild,
  listen,
  PollGate,
  PollOrchestrator,
  processChild,
  readEnvironment,
  serviceChild,
  workerChild,
} from "./index.js";

export function candidate(elector: Elector, nodeId: string, children: ChildSpec[]): CoordinatorCandidate {
  const { eligible, takeoverDelayMs, electionIntervalMs } = readEnvironment(process.env);
  return new CoordinatorCandidate({
    elector,
    nodeId,
    eligible,
    takeoverDelayMs,
    electionIntervalMs,
    children,
    strategy: "rest_for_one",
  });
}

export function children(pool: { open(): Promise<void>; close(): Promise<void> }): ChildSpec[] {
  return [
    serviceChild("pool", { start: () => pool.open(), stop: () => pool.close() }),
    processChild("scheduler", "python3", { args: ["scheduler.py"], stopTimeoutMs: 10_000 }),
    workerChild("indexer", new URL("./indexer.js", import.meta.url), { restart: "transient" }),
    functionChild("announcer", async ({ term, signal }) => {
      while (!signal.aborted) await announce(term, signal);
    }),
  ];
}

export function polling(
  elector: ElectorAdmin,
  dispatch: (dispatch: Dispatch) => Promise<unknown>,
  clock?: Clock,
): ChildSpec[] {
  const health = new ClusterHealth({ elector, groupId: "coordinator", clock });
  const polls = new PollOrchestrator({
    polls: [{ name: "disks", intervalMs: 60_000, timeoutMs: 10_000 }],
    members: () => health.healthy,
    dispatch,
    clock,
  });
  return [health.child(), polls.child()];
}

const gate = new PollGate();

export async function follow(elector: Elector, signal: AbortSignal): Promise<void> {
  for await (const event of elector.watch("coordinator", { signal })) gate.observe(event);
}

export function answer<T>(poll: string, term: number, run: (poll: string) => T): T {
  if (!gate.admit(term)) throw new Error(`term ${term} is over: term ${gate.highestTerm} has been here`);
  return run(poll);
}

export function log(print: (line: string) => void): () => void {
  return listen(({ event, metadata }) => {
    if (event === "became_leader") print(`${metadata["node"]} coordinates in term ${metadata["term"]}`);
    if (event === "lost_leadership") print(`${metadata["node"]} does no more: ${metadata["reason"]}`);
    if (event === "child_crashed") print(`${metadata["child"]} crashed: ${metadata["error"]}`);
  });
}

/** Stands for whatever the reader announces. */
function announce(_term: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
