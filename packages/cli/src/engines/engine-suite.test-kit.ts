/**
 * What `tenure serve` must do over each engine, with real processes on both sides. Each engine's test file is one call
 * per suite.
 */
import { sleep, systemClock } from "@tenure/core";
import { boundMs, type Engine, FaultProxy, type Installed, isMissing, rounds } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, Api, mustSucceed, termWon } from "../api.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";
import { SseWatcher } from "../sse-watcher.test-kit.js";
import { Contender } from "./contender.test-kit.js";
import { Ledger } from "./ledger.test-kit.js";
import { comesTrue, until } from "./until.test-kit.js";

export interface EngineCase {
  readonly engine: Installed;
  readonly start: () => Promise<Engine>;
  /** A client of the engine itself: for an engine that may be away longer than `BACK_WITHIN_MS` by its own rules. */
  readonly plain?: (url: string) => Promise<PlainClient>;
}

export interface PlainClient extends AsyncDisposable {
  /** Rejects while the engine accepts no write. */
  write(): Promise<unknown>;
}

const TTL_MS = 4000;
/** How long the engine may be busy after one of its servers has gone. */
const BUSY_MS = 5000;
const BACK_WITHIN_MS = boundMs(BUSY_MS);
/** If the engine itself takes longer: how soon after it. An earlier request may wait for a second in vain. */
const BACK_AFTER_ENGINE_MS = boundMs(1500);
const REFUSED_WITHIN_MS = boundMs(5000);
const ELECTIONS = rounds(60, 200);

interface Bench {
  readonly engine: Engine;
  readonly serve: (store: string) => Promise<{ readonly server: ServerProcess; readonly api: Api }>;
}

/** The engine and the processes started over it, for the tests of one suite. */
function bench({ start }: EngineCase): () => Bench {
  const scratch = new Scratch();
  const apis: Api[] = [];
  let engine: Engine | null = null;
  beforeAll(async () => {
    engine = await start();
  });
  afterAll(async () => {
    for (const api of apis) api.close();
    await scratch.close();
    await engine?.stop();
  });
  const serve: Bench["serve"] = async (store) => {
    const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "error"]);
    const api = new Api(server.port);
    apis.push(api);
    return { server, api };
  };
  return () => {
    if (engine === null) throw new Error("the engine has not been started");
    return { engine, serve };
  };
}

/** One server of the engine is enough for these tests. */
export function serviceSuite(given: EngineCase): void {
  describe.skipIf(isMissing(given.engine))(`tenure serve over ${given.engine}`, () => {
    const current = bench(given);

    it("a service that starts before its engine answers 503, and works once the engine is up", async () => {
      const { engine, serve } = current();
      await Promise.all(engine.nodes.map((node) => node.kill()));
      const { server, api } = await serve(engine.url);
      const asked = [
        api.campaign("late", "a", 60_000),
        api.campaign("late", "b", 60_000, 30_000),
        api.leader("late"),
        api.get("/readyz"),
        api.get("/healthz"),
      ];
      const answers = await Promise.all(asked);
      expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 200]);
      expect(answers[0]?.body.error).toBe("BACKEND_UNAVAILABLE");
      expect(await api.text("/metrics")).toMatch(/^store_quorum_health 0$/m);
      for (const node of engine.nodes) node.launch();
      await Promise.all(engine.nodes.map((node) => node.ready()));
      expect(termWon(await persist(() => api.campaign("late", "a", 60_000)))).toBe(1);
      expect((await api.get("/readyz")).status).toBe(200);
      expect(await api.text("/metrics")).toMatch(/^store_quorum_health 1$/m);
      expect(await server.end("SIGTERM")).toBe(0);
    });

    it("a service that stops while its engine is down ends at once", async () => {
      const { engine, serve } = current();
      await Promise.all(engine.nodes.map((node) => node.kill()));
      const { server } = await serve(engine.url);
      expect(await server.end("SIGTERM")).toBe(0);
      for (const node of engine.nodes) node.launch();
      await Promise.all(engine.nodes.map((node) => node.ready()));
    });

    it("two processes over one engine behave as one, and each continues without the other", async () => {
      const { engine, serve } = current();
      const [one, two] = await Promise.all([serve(engine.url), serve(engine.url)]);
      const watcher = new SseWatcher({
        path: "/v1/groups/both/watch",
        port: () => Promise.resolve(two.api.port),
      });
      const following = watcher.follow();
      const term = termWon(await one.api.campaign("both", "a", 60_000));
      expect((await two.api.leader("both")).body.leader).toMatchObject({ node_id: "a", term });
      mustSucceed(await two.api.renew("both", "a", term, 60_000));
      await watcher.until((event) => event.term === term && event.leaderNodeId === "a");
      const next = two.api.campaign("both", "b", 60_000, 30_000);
      await two.api.leader("both");
      mustSucceed(await one.api.resign("both", "a", term));
      expect(termWon(await next)).toBe(term + 1);

      const kept = termWon(await one.api.campaign("kept", "a", 60_000));
      await one.server.end("SIGKILL");
      mustSucceed(await two.api.renew("kept", "a", kept, 60_000));
      mustSucceed(await two.api.renew("both", "b", term + 1, 60_000));
      expect((await two.api.leader("kept")).body.leader).toMatchObject({ node_id: "a", term: kept });
      watcher.stop();
      await following;
    });

    it("a watch has no gap across a pause and a restart of the engine", async () => {
      const { engine, serve } = current();
      const { api } = await serve(engine.url);
      const watcher = new SseWatcher({ path: "/v1/groups/gap/watch", port: () => Promise.resolve(api.port) });
      const following = watcher.follow();
      let term = 0;
      const turnOver = async (): Promise<void> => {
        for (const node of ["a", "b", "c"]) {
          term = termWon(await persist(() => api.campaign("gap", node, 60_000)));
          await persist(() => api.resign("gap", node, term));
        }
      };
      await turnOver();
      await Promise.all(engine.nodes.map((node) => node.pause()));
      const refused = await api.campaign("elsewhere", "a", 60_000);
      expect(refused).toMatchObject({ status: 503, body: { error: "BACKEND_UNAVAILABLE" } });
      await sleep(systemClock, PAUSED_MS);
      for (const node of engine.nodes) node.resume();
      await turnOver();
      await Promise.all(engine.nodes.map((node) => node.kill()));
      for (const node of engine.nodes) node.launch();
      await Promise.all(engine.nodes.map((node) => node.ready()));
      await turnOver();
      await watcher.until((event) => event.type === "LEADER_LOST" && event.term === term);
      watcher.stop();
      await following;
      const events = watcher.received.filter(({ type }) => type !== "RESYNC").map(({ id }) => id);
      const first = events[0] ?? 0;
      expect(events).toEqual(Array.from(events, (_, index) => first + index));
      expect(watcher.received.filter(({ type }) => type === "RESYNC")).toEqual([]);
      expect(term).toBe(9);
    });

    it("a write whose answer is lost causes no second winner and loses no win", async () => {
      const { engine, serve } = current();
      const direct = new URL(engine.url.replace(/^[a-z]+:/, "http:"));
      await using proxy = await FaultProxy.open({ host: direct.hostname, port: Number(direct.port) });
      const [cut, straight] = await Promise.all([
        serve(engine.url.replace(direct.host, `${direct.hostname}:${proxy.port}`)),
        serve(engine.url),
      ]);
      let uncertain = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const group = `cut-${round}`;
        proxy.loseAnswers();
        const first = cut.api.campaign(group, "a", 60_000);
        // The write has landed, or it never will: the record shows which.
        await comesTrue(LANDING_MS, async () => (await straight.api.leader(group)).body.leader !== null);
        proxy.cut();
        proxy.mend();
        const told = await first;
        const second = await straight.api.campaign(group, "b", 60_000);
        const { leader } = (await straight.api.leader(group)).body;
        if (told.status === 503) uncertain++;
        const winners = [
          ...(told.body.is_leader === true ? ["a"] : []),
          ...(second.body.is_leader === true ? ["b"] : []),
        ];
        expect([[], [leader?.node_id]]).toContainEqual(winners);
        expect(leader?.term).toBe(1);
        // A client without an answer asks again, and gets the actual state.
        const again = await persist(() => cut.api.campaign(group, "a", 60_000));
        expect(again.body.is_leader).toBe(leader?.node_id === "a");
      }
      console.log(`${given.engine}: ${uncertain} of ${ROUNDS} campaigns were left in the dark`);
    });
  });
}

const PAUSED_MS = 10_000;
const ROUNDS = 10;
const LANDING_MS = 200;

/** Three servers of the engine, some of which are killed. */
export function clusterSuite(given: EngineCase): void {
  describe.skipIf(isMissing(given.engine))(`tenure serve over three servers of ${given.engine}`, () => {
    const current = bench(given);

    it(`${ELECTIONS} elections continue while each server of the engine is killed in turn`, async () => {
      const { engine, serve } = current();
      const sides = await Promise.all([serve(engine.url), serve(engine.url)]);
      await using plain = (await given.plain?.(engine.url)) ?? null;
      const ledger = new Ledger();
      const over = new AbortController();
      const running = Array.from({ length: ELECTIONS }, (_, index) =>
        sides.map(({ api }, side) =>
          new Contender(
            {
              api,
              groupId: `election-${index}`,
              nodeId: `node-${side}`,
              ttlMs: TTL_MS,
              renewMs: TTL_MS / 4,
              renewals: 2 + ((index + side) % 5),
            },
            ledger,
          ).run(over.signal),
        ),
      ).flat();
      await until(6 * BUSY_MS, "a leader for each", async () => ledger.wins >= ELECTIONS);
      const rounds: { readonly backMs: number; readonly engineMs: number }[] = [];
      for (const [index, node] of engine.nodes.entries()) {
        await node.kill();
        const [engineMs, ...servedMs] = await Promise.all([
          untilWritten(plain),
          ...sides.map(({ api }) => untilServed(api, index)),
        ]);
        rounds.push({ backMs: Math.max(...servedMs), engineMs });
        await node.start();
        const wins = ledger.wins;
        await until(6 * BUSY_MS, "new leaders", async () => ledger.wins >= wins + ELECTIONS / 4);
      }
      over.abort();
      await Promise.all(running);
      const told = rounds
        .map(({ backMs, engineMs }) =>
          plain === null
            ? `${backMs.toFixed(0)} ms`
            : `${backMs.toFixed(0)} ms (the engine ${engineMs.toFixed(0)})`,
        )
        .join(", ");
      console.log(
        `${given.engine}: ${ledger.wins} wins, ${ledger.renewals} renewals; served again after ${told}`,
      );
      expect(ledger.violations()).toEqual([]);
      const late = rounds.filter(
        ({ backMs, engineMs }) => backMs >= Math.max(BACK_WITHIN_MS, engineMs + BACK_AFTER_ENGINE_MS),
      );
      expect(late).toEqual([]);
    });

    it("without a quorum of the engine no lease is granted, and everything works again with it", async () => {
      const { engine, serve } = current();
      const { api } = await serve(engine.url);
      const term = termWon(await api.campaign("held", "a", 60_000));
      const [, ...others] = engine.nodes;
      await Promise.all(others.map((node) => node.kill()));
      const startMs = performance.now();
      const refusals = await Promise.all([
        api.campaign("new", "a", 60_000),
        api.renew("held", "a", term, 60_000),
        api.get("/readyz"),
      ]);
      const tookMs = performance.now() - startMs;
      expect(refusals.map(({ status }) => status)).toEqual([503, 503, 503]);
      expect(refusals[0]?.body.error).toBe("BACKEND_UNAVAILABLE");
      expect(refusals[1]?.body.error).toBe("BACKEND_UNAVAILABLE");
      expect(tookMs).toBeLessThan(REFUSED_WITHIN_MS);
      for (const node of others) node.launch();
      await Promise.all(others.map((node) => node.ready()));
      mustSucceed(await persist(() => api.renew("held", "a", term, 60_000)));
      await until(6 * BUSY_MS, "ready", async () => (await api.get("/readyz")).status === 200);
      termWon(await persist(() => api.campaign("new", "a", 60_000)));
    });
  });
}

/** How long it takes until a new group gets its leader. */
async function untilServed(api: Api, round: number): Promise<number> {
  const startMs = performance.now();
  const group = `probe-${round}-${api.port}`;
  await until(
    6 * BUSY_MS,
    "a campaign that is answered",
    async () => (await api.campaign(group, "a", 60_000)).status === 200,
  );
  return performance.now() - startMs;
}

/** How long it takes until the engine accepts a write of its own client; 0 if there is none. */
async function untilWritten(client: PlainClient | null): Promise<number> {
  if (client === null) return 0;
  const startMs = performance.now();
  await until(6 * BUSY_MS, "a write that the engine takes", () =>
    client.write().then(
      () => true,
      () => false,
    ),
  );
  return performance.now() - startMs;
}

/** Repeats until the engine answers. */
async function persist(ask: () => Promise<Answer>): Promise<Answer> {
  let answer: Answer | null = null;
  await until(6 * BUSY_MS, "an answer of the engine", async () => {
    answer = await ask();
    return answer.status !== 503;
  });
  if (answer === null) throw new Error("nobody was asked");
  return answer;
}
