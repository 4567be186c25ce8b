/** SIGTERM under load: every request that was accepted is answered, watches end in good order, exit 0 within 10 s. */
import { boundMs } from "@tenure/engines";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Answer, Api, termWon } from "./api.test-kit.js";
import { RestartedServer } from "./restarted-server.test-kit.js";
import { Scratch } from "./scratch.test-kit.js";
import { SseWatcher } from "./sse-watcher.test-kit.js";

const RENEWING = 64;
const WAITING = 16;
const WATCHING = 16;
const POLLING = 8;
const TTL_MS = 60_000;
const EXIT_MS = 10_000;

let scratch: Scratch;
let server: RestartedServer;
let apis: Api[];
beforeEach(async () => {
  scratch = new Scratch();
  apis = [];
  server = await RestartedServer.start(scratch, scratch.directory());
});
afterEach(async () => {
  for (const api of apis) api.close();
  await scratch.close();
});

/** A caller with one connection of its own. */
function connect(): Api {
  const api = new Api(server.port, 1);
  apis.push(api);
  return api;
}

interface Renewing {
  renewals: number;
  /** When the request that was not answered 200 was sent, and how it ended. */
  readonly last: Promise<{ readonly sentAtMs: number; readonly outcome: number | string }>;
}

/** One renewal after the other, until one is not answered 200. */
async function renewing(group: string, ready: () => void): Promise<Renewing> {
  const api = connect();
  const term = termWon(await api.campaign(group, "leader", TTL_MS));
  const state = { renewals: 0 };
  const last = (async () => {
    for (;;) {
      const sentAtMs = performance.now();
      try {
        const { status } = await api.renew(group, "leader", term, TTL_MS);
        if (status !== 200) return { sentAtMs, outcome: status };
      } catch (error) {
        return { sentAtMs, outcome: (error as { code?: string }).code ?? String(error) };
      }
      if (++state.renewals === 20) ready();
    }
  })();
  return Object.assign(state, { last });
}

function times(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

it("a stopping server answers requests in flight, ends watches with a retry hint, and exits with 0 within 10 s", async () => {
  let underLoad = 0;
  let allUnderLoad = () => {};
  const loaded = new Promise<void>((resolve) => (allUnderLoad = resolve));
  const loads = await Promise.all(
    times(RENEWING).map((index) =>
      renewing(`g-${index}`, () => {
        if (++underLoad === RENEWING) allUnderLoad();
      }),
    ),
  );
  const waits: Promise<Answer>[] = times(WAITING).map((index) =>
    connect().campaign(`g-${index}`, "waiter", TTL_MS, 60_000),
  );
  const polls = times(POLLING).map((index) =>
    connect().get(`/v1/groups/g-${index}/watch?cursor=1&timeout_ms=60000`),
  );
  const watchers = times(WATCHING).map(
    (index) => new SseWatcher({ path: `/v1/groups/g-${index}/watch`, port: () => server.up() }),
  );
  const streams = watchers.map((watcher) => watcher.stream());
  await Promise.all(watchers.map((watcher) => watcher.until(({ term }) => term === 1)));
  await loaded;
  const metrics = await metricsUntil(connect(), `waiting_campaigns ${WAITING}`);
  expect(metrics).toContain(`open_watches ${WATCHING + POLLING}`);

  const signalledAtMs = performance.now();
  expect(await server.end("SIGTERM")).toBe(0);
  const tookMs = performance.now() - signalledAtMs;
  console.log(`SIGTERM to exit: ${Math.round(tookMs)} ms`);
  expect(tookMs).toBeLessThan(boundMs(EXIT_MS));

  for (const wait of waits) {
    expect(await wait).toMatchObject({ status: 200, body: { is_leader: false, leader: { term: 1 } } });
  }
  for (const poll of polls) expect(await poll).toMatchObject({ status: 200, body: { events: [] } });
  await Promise.all(streams);
  expect(watchers.map(({ retryMs }) => retryMs)).toEqual(times(WATCHING).map(() => 1000));
  // A renewal sent before the signal was answered; later ones may have met a closed connection, and may be retried.
  const lasts = await Promise.all(loads.map(({ last }) => last));
  const unanswered = lasts.filter(({ sentAtMs, outcome }) => sentAtMs < signalledAtMs && outcome !== 503);
  expect(unanswered).toEqual([]);
});

/** Reads the metrics until they contain this line. */
async function metricsUntil(api: Api, line: string): Promise<string> {
  for (;;) {
    const text = await api.text("/metrics");
    if (text.includes(line)) return text;
  }
}
