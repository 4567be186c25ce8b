import { MemoryStore, StoreElector, systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterAll, describe, expect, test } from "vitest";
import { Election } from "../election/election.js";
import type { ElectionOptions } from "../election/options.js";
import { workerRenewer, type WorkerRenewerOptions } from "./worker-renewer.js";

const http = { endpoints: ["http://127.0.0.1:7420"] };
const elector = StoreElector.open({ store: new MemoryStore() });
afterAll(() => elector.close());

function election(options: Partial<ElectionOptions>): Election {
  return new Election(elector, { groupId: "g", nodeId: "a", ttlMs: 1000, ...options });
}

describe("refusals of workerRenewer", () => {
  const cases: readonly [string, unknown, string][] = [
    ["missing options", undefined, "options must be an object"],
    ["unknown options", { elector: http, stallLimitMs: 1000, stall: 1 }, "stall is not known here"],
    ["a missing stallLimitMs", { elector: http }, "stallLimitMs must be a whole number"],
    ["a missing elector", { stallLimitMs: 1000 }, "elector must be an object"],
    ["an elector without endpoints", { elector: {}, stallLimitMs: 1000 }, "endpoints"],
    [
      "an elector that cannot be passed to a thread",
      { elector: { ...http, token: () => "t" }, stallLimitMs: 1000 },
      "elector cannot be handed to a thread",
    ],
    [
      "a module given by a relative path",
      { elector: { module: "./elector.js" }, stallLimitMs: 1000 },
      "elector.module must be a URL",
    ],
  ];
  test.each(cases)("workerRenewer refuses %s", (_, given, problem) => {
    expect(() => workerRenewer(given as WorkerRenewerOptions)).toThrow(problem);
  });

  test("workerRenewer refuses a stallLimitMs of at most twice heartbeatIntervalMs, and names both", () => {
    const renewer = workerRenewer({ elector: http, stallLimitMs: 400 });
    expect(() => election({ renewer, heartbeatIntervalMs: 200 })).toThrow(
      "stallLimitMs is 400 and must be more than twice heartbeatIntervalMs, which is 200",
    );
    expect(() => election({ renewer, heartbeatIntervalMs: 199, clock: systemClock })).not.toThrow();
  });

  test("workerRenewer refuses a clock that is not the system's", () => {
    const renewer = workerRenewer({ elector: http, stallLimitMs: 10_000 });
    expect(() => election({ renewer, clock: new VirtualClock() })).toThrow("clock must be systemClock");
  });
});
