/**
 * Another node leads, in real time and over HTTP: after a resignation, and after a leader has fallen silent. `npm run
 * chaos` measures how soon.
 */
import { isChaos, rounds } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Api, mustSucceed, termWon } from "./api.test-kit.js";
import { besideDisk } from "./disk-stalls.test-kit.js";
import { distribution, percentile } from "./distribution.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";

const HANDOVERS = rounds(25, 250);
const HANDOVER_MS = 20;
/** A handover is one write, like a renewal; a waiting campaign that polled would take hundreds of times as long. */
const HANDOVER_RENEWALS = 20;

const CRASHES = rounds(10, 50);
const CRASH_TTL_MS = 500;
const DRIFT_RATIO = 0.01;
const CRASH_SLACK_MS = 100;

interface Series {
  readonly tookMs: readonly number[];
  readonly controlMs: readonly number[];
}

/** The control, plain renewals in between, shows whether a bound was missed by the service or by a busy machine. */
function describeSeries(what: string, { tookMs, controlMs }: Series): string {
  return `${what}: ${distribution(tookMs)}; renewals meanwhile: ${distribution(controlMs)}`;
}

function expectWithin(boundMs: number, what: string, series: Series): void {
  if (!isChaos) return;
  const told = describeSeries(what, series);
  console.log(told);
  expect(percentile(series.tookMs, 0.99), told).toBeLessThan(boundMs);
}

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

  /** Returns when the request was sent, and how long it took. */
  async function renew(group: string, node: string, term: number, ttlMs: number): Promise<[number, number]> {
    const sentAtMs = performance.now();
    mustSucceed(await api.renew(group, node, term, ttlMs));
    return [sentAtMs, performance.now() - sentAtMs];
  }

  async function handOver(): Promise<Series> {
    const group = "handed-over";
    const tookMs: number[] = [];
    const controlMs: number[] = [];
    let term = termWon(await api.campaign(group, "node-0", 60_000));
    for (let round = 1; round <= HANDOVERS; round++) {
      const won = api.campaign(group, `node-${round}`, 60_000, 60_000).then((answer) => {
        return { term: termWon(answer), atMs: performance.now() };
      });
      // When this is answered, the campaign sent before it is waiting.
      controlMs.push((await renew(group, `node-${round - 1}`, term, 60_000))[1]);
      const resignedAtMs = performance.now();
      mustSucceed(await api.resign(group, `node-${round - 1}`, term));
      const winner = await won;
      expect(winner.term).toBe(term + 1);
      term = winner.term;
      tookMs.push(winner.atMs - resignedAtMs);
    }
    return { tookMs, controlMs };
  }

  it("a resigned lease goes to a waiting candidate at once", async () => {
    const taken = await handOver();
    const told = describeSeries("handover", taken);
    expect(percentile(taken.tookMs, 0.5), told).toBeLessThan(
      HANDOVER_RENEWALS * percentile(taken.controlMs, 0.5),
    );
    expectWithin(HANDOVER_MS, "handover", taken);
  });

  async function crash(): Promise<Series> {
    const controlMs: number[] = [];
    const waits: Promise<number>[] = [];
    for (let index = 0; index < CRASHES; index++) {
      const group = `crashed-${index}`;
      const term = termWon(await api.campaign(group, "leader", CRASH_TTL_MS));
      const won = api.campaign(group, "waiter", CRASH_TTL_MS, 60_000).then((answer) => {
        const atMs = performance.now();
        expect(termWon(answer)).toBe(term + 1);
        return atMs;
      });
      const [renewedAtMs, renewalMs] = await renew(group, "leader", term, CRASH_TTL_MS);
      controlMs.push(renewalMs);
      waits.push(won.then((atMs) => atMs - renewedAtMs));
    }
    // The leases expire while another client renews.
    const term = termWon(await api.campaign("control", "leader", 60_000));
    let over = false;
    const control = (async () => {
      while (!over) controlMs.push((await renew("control", "leader", term, 60_000))[1]);
    })();
    const tookMs = await Promise.all(waits);
    over = true;
    await control;
    return { tookMs, controlMs };
  }

  it("a silent leader's lease goes to a waiting candidate when it is over, and not before", async () => {
    const holdMs = CRASH_TTL_MS * (1 + DRIFT_RATIO);
    // All of them wait at once, so one stall of the disk would delay them all.
    const [taken, stalledMs] = await besideDisk(crash);
    expect(Math.min(...taken.tookMs)).toBeGreaterThanOrEqual(holdMs);
    expectWithin(holdMs + CRASH_SLACK_MS + stalledMs, `crash, the disk stalled for ${stalledMs} ms`, taken);
  });
});
