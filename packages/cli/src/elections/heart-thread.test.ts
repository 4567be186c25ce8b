/** The renewing thread in this process: how it is opened, and what happens to a leader when it dies. */
import { Election, HttpElector } from "@tenure/client";
import { workerRenewer } from "@tenure/client/worker";
import { boundMs } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ServerProcess } from "../server-process.test-kit.js";
import { Participants } from "./participants.test-kit.js";
import { Tally } from "./tally.test-kit.js";
import { THREAD_ELECTOR } from "./thread-elector.test-kit.js";

const TTL_MS = 1500;

interface Story {
  readonly reason: string;
  readonly ledMs: number;
  readonly renewals: number;
  readonly failures: readonly string[];
}

describe("the renewing thread of a process", () => {
  const participants = new Participants();
  let server: ServerProcess;
  let elector: HttpElector;
  beforeAll(async () => {
    server = await participants.serve();
    elector = await HttpElector.open({ endpoints: [server.url] });
  });
  afterAll(async () => {
    await elector.close();
    await participants.close();
  });

  /** Leads until something ends it, or until this many renewals. */
  async function lead(
    groupId: string,
    exportName: string,
    enough: number = Number.POSITIVE_INFINITY,
  ): Promise<Story> {
    const failures: string[] = [];
    let renewals = 0;
    const election = new Election(elector, {
      groupId,
      nodeId: "a",
      ttlMs: TTL_MS,
      renewer: workerRenewer({
        elector: { module: THREAD_ELECTOR, exportName, argument: server.url },
        stallLimitMs: 10 * TTL_MS,
      }),
      metrics: {
        ...new Tally().metrics((code) => failures.push(code)),
        heartbeat: (_, outcome) => {
          if (outcome === "renewed") renewals += 1;
          if (renewals >= enough) void election.stop();
        },
      },
    });
    let promotedMs = 0;
    election.onPromote(() => {
      promotedMs = performance.now();
    });
    const ended = new Promise<string>((resolve) => {
      election.onDemote(resolve);
    });
    await election.start();
    const reason = await ended;
    const ledMs = performance.now() - promotedMs;
    await election.stop();
    return { reason, ledMs, renewals, failures };
  }

  it("the renewing thread opens its elector from a module, and leads until it is stopped", async () => {
    const { reason, ledMs, renewals, failures } = await lead("module", "openElector", 6);
    expect({ reason, renewals }, failures.join()).toEqual({ reason: "stopped", renewals: 6 });
    expect(ledMs).toBeGreaterThan(TTL_MS);
  });

  it("the death of the renewing thread is reported and ends the leadership at once", async () => {
    const { reason, renewals, failures, ledMs } = await lead("mortal", "openMortalElector");
    expect(reason).toBe("heart-failed");
    expect(renewals).toBeLessThanOrEqual(2);
    expect(failures).toContain("HEART_THREAD_ENDED");
    expect(ledMs).toBeLessThan(boundMs(2 * TTL_MS));
  });

  it("start() rejects without a campaign if the renewing thread cannot open its elector", async () => {
    const election = new Election(elector, {
      groupId: "none",
      nodeId: "a",
      ttlMs: TTL_MS,
      renewer: workerRenewer({
        elector: { module: THREAD_ELECTOR, exportName: "openNone", argument: server.url },
        stallLimitMs: 10 * TTL_MS,
      }),
    });
    await expect(election.start()).rejects.toMatchObject({ code: "HEART_THREAD_ENDED" });
    expect(election.status().state.kind).toBe("failed");
    expect((await elector.leader("none")).term).toBe(0);
  });
});
