import type { Elector } from "@tenure/core";
import { expect, test } from "vitest";
import { functionChild } from "../supervisor/function-child.js";
import { CoordinatorCandidate } from "./coordinator-candidate.js";
import { readEnvironment } from "./environment.js";

test.each([
  [{ nodeId: "" }, "nodeId must be 1 to 200 characters"],
  [{ groupId: "a b" }, "groupId must be 1 to 200 characters"],
  [{ eligible: "yes" }, "eligible must be true or false"],
  [{ electionIntervalMs: 0 }, "electionIntervalMs must be a whole number from 100"],
  [{ children: [{ id: "a" }] }, "children[0].start must be a function"],
  [{ election: { stopMargin: 3 } }, "stopMargin is not known here"],
  [{ ttlMs: 1000, killMarginMs: 100 }, "killMarginMs is 100 and must be less than election.stopMarginMs"],
])("the options %j are refused by the constructor", (options, message) => {
  const elector = {} as Elector;
  const make = () => new CoordinatorCandidate({ elector, nodeId: "a", children: [], ...(options as object) });
  expect(make).toThrow(message);
});

test.each([
  [{ COORDINATOR_ELIGIBLE: "maybe" }, "COORDINATOR_ELIGIBLE"],
  [{ COORDINATOR_TAKEOVER_DELAY: "1s" }, "COORDINATOR_TAKEOVER_DELAY"],
  [{ COORDINATOR_ELECTION_INTERVAL: "1" }, "COORDINATOR_ELECTION_INTERVAL"],
  [{ TENURE_SERVER: "http://a", TENURE_STORE: "memory:" }, "TENURE_STORE"],
])("a wrong environment %j is refused, naming %s", (env, name) => {
  expect(() => readEnvironment(env)).toThrow(name);
});

test("a candidate configured only by the environment coordinates over the named store, and closes it when it ends", async () => {
  let begin = (_term: number): void => {};
  const begun = new Promise<number>((resolve) => {
    begin = resolve;
  });
  const work = functionChild("work", async ({ term, signal }) => {
    begin(term);
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
    });
  });
  const env = { COORDINATOR_ELIGIBLE: "yes", TENURE_STORE: "memory:" };
  const candidate = await CoordinatorCandidate.open(env, { nodeId: "a", children: [work] });
  await candidate.start();
  expect(await begun).toBe(1);
  await candidate.stop();
  expect(candidate.state).toBe("stopped");
  const nowhere = CoordinatorCandidate.open({}, { nodeId: "a", children: [] });
  await expect(nowhere).rejects.toThrow("TENURE_SERVER is not set");
});
