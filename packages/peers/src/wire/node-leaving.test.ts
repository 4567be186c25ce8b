/** How long a stopping node waits, and what a node that leaves for good does before it may be stopped. */
import { VirtualClock } from "@tenure/core/testing";
import { describe, expect, it } from "vitest";
import type { LeaveOutcome } from "../protocol/leaving.js";
import { NodeLeaving, type NodeLeavingParts } from "./node-leaving.js";

/** The default of `--tc-ttl`. */
const TTL_MS = 5000;
const REMOVED: LeaveOutcome = { kind: "removed" };

/** A node whose leader removes it when `remove` is called, and whose `unregister` fails as often as given. */
function leavingNode(unregisterFailures = 0) {
  const clock = new VirtualClock();
  const calls: string[] = [];
  let remove = (): void => {};
  let failures = unregisterFailures;
  const removed = new Promise<LeaveOutcome>((resolve) => {
    remove = () => resolve(REMOVED);
  });
  const parts = {
    endpoint: "https://a:1",
    ttlMs: TTL_MS,
    clock,
    peer: () => ({ leave: () => removed }),
    announcer: { leave: async () => ({ reached: [], failed: [] }) },
    decisions: { forgetOpen: async () => void calls.push("forget what is not final") },
    unregister: async () => {
      calls.push("unregister");
      if (failures-- > 0) throw new Error("a member did not confirm");
    },
    log: {
      left: ({ kind }: LeaveOutcome) => void calls.push(kind),
      failed: (what: string, _: string, cause: Error) => void calls.push(`failed ${what}: ${cause.message}`),
    },
  } as unknown as NodeLeavingParts;
  return { clock, calls, remove: () => remove(), leaving: new NodeLeaving(parts) };
}

describe("a stopping node", () => {
  it("a stopping node waits for four leases to be removed, also at the default lease, and then counts as crashed", async () => {
    const { clock, calls, leaving } = leavingNode();
    let isOver = false;
    void leaving.stop().then(() => {
      isOver = true;
    });
    await clock.advance(4 * TTL_MS - 1);
    expect([isOver, calls]).toEqual([false, []]);
    await clock.advance(1);
    expect(isOver).toBe(true);
    expect(calls).toEqual([expect.stringMatching(/^failed leaving the cluster: .*counts as crashed$/)]);
  });

  it("a stopping node is done as soon as it is removed, and stays a resource manager", async () => {
    const { clock, calls, remove, leaving } = leavingNode();
    const stopped = leaving.stop();
    await clock.advance(3 * TTL_MS);
    remove();
    await stopped;
    expect(calls).toEqual(["removed"]);
  });
});

describe("a node that leaves for good", () => {
  it("a node that leaves for good is unregistered once it is removed, until all confirm, and then reports that it has left", async () => {
    const { clock, calls, remove, leaving } = leavingNode(1);
    leaving.letGo();
    await clock.advance(TTL_MS);
    expect(calls).toEqual([]);
    remove();
    await clock.advance(1);
    const failed = "failed unregistering this server as a resource manager: a member did not confirm";
    expect(calls).toEqual(["forget what is not final", "unregister", failed]);
    await clock.advance(TTL_MS);
    expect(calls.slice(3)).toEqual(["unregister", "removed"]);
  });
});
