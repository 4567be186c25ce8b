/** How soon another leads, in real time and over HTTP: after a resignation, and after a leader has fallen silent. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Api, mustSucceed, termWon } from "./api.test-kit.js";
import { distribution, percentile } from "./distribution.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const HANDOVERS = 400;
const HANDOVER_MS = 20;

const CRASHES = 60;
const CRASH_TTL_MS = 500;
const DRIFT_RATIO = 0.01;
const CRASH_SLACK_MS = 100;

describe("failover", () => {
  const scratch = new Scratch();
  let api: Api;
  beforeAll(async () => {
    const store = `embedded:${scratch.directory()}`;
    const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "warn"]);
    api = new Api(server.port);
  });
  afterAll(async () => {
    api.close();
    await scratch.close();
  });

  it(`a resigned lease reaches a waiting campaigner in less than ${HANDOVER_MS} ms`, async () => {
    const tookMs: number[] = [];
    let term = termWon(await api.campaign("handed-over", "node-0", 60_000));
    for (let round = 1; round <= HANDOVERS; round++) {
      const won = api.campaign("handed-over", `node-${round}`, 60_000, 60_000).then((answer) => {
        return { term: termWon(answer), atMs: performance.now() };
      });
      // By its answer the campaign, sent before it, is waiting.
      mustSucceed(await api.renew("handed-over", `node-${round - 1}`, term, 60_000));
      const resignedAtMs = performance.now();
      mustSucceed(await api.resign("handed-over", `node-${round - 1}`, term));
      const winner = await won;
      expect(winner.term).toBe(term + 1);
      term = winner.term;
      tookMs.push(winner.atMs - resignedAtMs);
    }
    console.log(`handover: ${distribution(tookMs)}`);
    expect(percentile(tookMs, 0.99), distribution(tookMs)).toBeLessThan(HANDOVER_MS);
  });

  it("a silent leader's lease reaches a waiting campaigner when it is over, not before, and soon", async () => {
    const holdMs = CRASH_TTL_MS * (1 + DRIFT_RATIO);
    const waits: Promise<number>[] = [];
    for (let crash = 0; crash < CRASHES; crash++) {
      const group = `crashed-${crash}`;
      const term = termWon(await api.campaign(group, "leader", CRASH_TTL_MS));
      const won = api.campaign(group, "waiter", CRASH_TTL_MS, 60_000).then((answer) => {
        expect(termWon(answer)).toBe(term + 1);
        return performance.now();
      });
      const renewedAtMs = performance.now();
      mustSucceed(await api.renew(group, "leader", term, CRASH_TTL_MS));
      waits.push(won.then((atMs) => atMs - renewedAtMs));
    }
    const tookMs = await Promise.all(waits);
    console.log(`crash: ${distribution(tookMs)}`);
    expect(Math.min(...tookMs)).toBeGreaterThanOrEqual(holdMs);
    expect(percentile(tookMs, 0.99), distribution(tookMs)).toBeLessThan(holdMs + CRASH_SLACK_MS);
  });
});
