/** The coordinator with real processes over a real service. `npm run chaos` measures how soon another coordinates. */
import { Random } from "@tenure/core/testing";
import { sleep, systemClock } from "@tenure/core";
import { isChaos, rounds } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Api } from "../api.test-kit.js";
import { besideDisk } from "../disk-stalls.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { NodeOptions } from "./coordinator-node.test-kit.js";
import {
  CoordinatorProcess,
  machineMs,
  overlaps,
  type Span,
  toldBy,
} from "./coordinator-process.test-kit.js";

const DRIFT_RATIO = 0.01;
const ELECTIONS = rounds(20, 100);
const DEFAULT_TTL_MS = 5000;
const DEFAULT_TAKEOVER_DELAY_MS = 1000;
/** For a crash: the default settings, or shorter ones if the time is not measured. */
const CRASH_SETTINGS = isChaos ? {} : { ttlMs: 1000, takeoverDelayMs: 200 };
/** The first pause ends within the lease, the others around its end and before the others stand. */
const HICCUPS = isChaos
  ? { takeoverDelayMs: 1000, lastMs: [500, 900, 1000, 1400] }
  : { takeoverDelayMs: 8000, lastMs: [300, 2000] };
/** Longer than a leader takes to notice that its lease was over while it hung. */
const SETTLED_MS = 300;

describe("coordinator processes", () => {
  const scratch = new Scratch();
  const nodes: CoordinatorProcess[] = [];
  let url: string;
  let api: Api;
  let group = 0;
  beforeAll(async () => {
    const server = await scratch.serve([
      "--listen",
      "127.0.0.1:0",
      "--store",
      `embedded:${scratch.directory()}`,
      "--log-level",
      "warn",
    ]);
    url = `http://127.0.0.1:${server.port}`;
    api = new Api(server.port);
  });
  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.close();
  });
  afterAll(async () => {
    api.close();
    await scratch.close();
  });

  /** Each test has its own group, so that it does not wait for leases of earlier tests. */
  function spawn(nodeId: string, options: Partial<NodeOptions> = {}): CoordinatorProcess {
    const node = new CoordinatorProcess({ url, nodeId, groupId: `group-${group}`, ...options });
    nodes.push(node);
    return node;
  }

  async function start(nodeId: string, options: Partial<NodeOptions> = {}): Promise<CoordinatorProcess> {
    const node = spawn(nodeId, options);
    await node.ready();
    return node;
  }

  /** How the previous term ended. */
  async function lastReason(): Promise<string | undefined> {
    const { body } = await api.get(`/v1/groups/group-${group}/history`);
    return body.events?.at(-1)?.reason;
  }

  it("a crashed coordinator is replaced when its lease and the takeover delay are over", async () => {
    const a = await start("a", CRASH_SETTINGS);
    const first = await a.startedAfter(0);
    const b = await start("b", CRASH_SETTINGS);
    const [tookMs, stalledMs] = await besideDisk(async () => {
      await a.end("SIGKILL");
      const killedAtMs = machineMs();
      return (await b.startedAfter(first.term)).fromMs - killedAtMs;
    });
    console.log(`crash: ${Math.round(tookMs)} ms, the disk stalled for ${stalledMs} of them`);
    expect(await lastReason()).toBe("expired");
    if (isChaos)
      expect(tookMs).toBeLessThan(
        DEFAULT_TTL_MS * (1 + DRIFT_RATIO) + 300 + DEFAULT_TAKEOVER_DELAY_MS + stalledMs,
      );
    expect(overlaps([...a.spans, ...b.spans])).toEqual([]);
  });

  it("a restarted coordinator hands over at once, and returns as standby", async () => {
    group += 1;
    const a = await start("a");
    const first = await a.startedAfter(0);
    const b = await start("b");
    const [tookMs, stalledMs] = await besideDisk(async () => {
      const stoppedAtMs = machineMs();
      await a.end("SIGTERM");
      return (await b.startedAfter(first.term)).fromMs - stoppedAtMs;
    });
    console.log(`graceful restart: ${Math.round(tookMs)} ms, the disk stalled for ${stalledMs} of them`);
    expect(await lastReason()).toBe("resigned");
    if (isChaos) expect(tookMs).toBeLessThan(500 + stalledMs);
    const again = await start("a");
    expect(again.spans).toEqual([]);
    expect(b.leads).toBe(true);
    expect(overlaps([...a.spans, ...b.spans])).toEqual([]);
  });

  it("a pause shorter than the takeover delay changes nothing, and a longer one hands over once", async () => {
    group += 1;
    const times = { ttlMs: 1000, takeoverDelayMs: HICCUPS.takeoverDelayMs };
    const a = await start("a", times);
    await a.startedAfter(0);
    const b = await start("b", times);
    for (const lastsMs of HICCUPS.lastMs) {
      await a.pause();
      await sleep(systemClock, lastsMs);
      a.resume();
      const resumedAtMs = machineMs();
      await a.heard(() => a.leads && (a.spans.at(-1)?.untilMs ?? 0) > resumedAtMs + SETTLED_MS);
      expect(b.spans, toldBy([a, b])).toEqual([]);
      // On a busy machine the pause takes longer than it was meant to.
      if (isChaos && lastsMs <= times.ttlMs / 2) expect(a.spans.length, toldBy([a, b])).toBe(1);
    }
    const { term, ...before } = { ...(a.spans.at(-1) as Span), spans: a.spans.length };
    await a.pause();
    const second = await b.startedAfter(term);
    a.resume();
    await a.heard(() => a.spans.at(-1)?.stopped === true);
    // Enough time to hand over again.
    const againMs = second.fromMs + times.ttlMs * (1 + DRIFT_RATIO) + times.takeoverDelayMs + SETTLED_MS;
    await b.heard(() => second.untilMs > againMs);
    console.log(`hiccups: ${toldBy([a, b])}`);
    expect(b.leads, toldBy([a, b])).toBe(true);
    expect(second.term, toldBy([a, b])).toBe(term + 1);
    expect([a.spans.length, b.spans.length], toldBy([a, b])).toEqual([before.spans, 1]);
  });

  it(`${ELECTIONS} elections in a row with random kills: coordination processes never run on two nodes at once`, async () => {
    group += 1;
    const random = new Random(7);
    const times = { ttlMs: 500, takeoverDelayMs: 0 };
    const all: Span[] = [];
    const kinds = { a: "function", b: "process", c: "function", d: "process" } as const;
    const optionsOf = (id: string) => ({ ...times, child: kinds[id as keyof typeof kinds] });
    const running = await Promise.all(Object.keys(kinds).map((id) => start(id, optionsOf(id))));
    let term = 0;
    for (let election = 0; election < ELECTIONS; election++) {
      const winner = await Promise.any(running.map((node) => node.startedAfter(term).then(() => node)));
      term = winner.spans.at(-1)?.term as number;
      await winner.end(random.next() < 0.5 ? "SIGKILL" : "SIGTERM");
      all.push(...winner.spans);
      const index = running.indexOf(winner);
      running[index] = spawn(winner.nodeId, optionsOf(winner.nodeId));
    }
    all.push(...running.flatMap((node) => node.spans));
    expect(new Set(all.map((span) => span.term)).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(ELECTIONS);
    expect(overlaps(all)).toEqual([]);
  });
});
