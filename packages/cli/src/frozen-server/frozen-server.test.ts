/**
 * Two servers over one NATS. The one that a follower prefers stops answering, and the leader, which has the other one, is
 * killed: the follower takes over by the other server, about when the lease ends. `npm run chaos` looks at the time.
 */
import { sleep, systemClock } from "@tenure/core";
import { FaultProxy, isChaos, isMissing, type NatsEngine, standsStill, startNats } from "@tenure/engines";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";
import type { FollowerOptions } from "./follower-main.test-kit.js";
import { type Follower, FollowerProcess, RunFollower } from "./follower-process.test-kit.js";

const DRIFT_RATIO = 0.01;
/** In addition to the lease and a coordinator's delay. */
const BOUND_MS = 3000;
const TAKEOVER_DELAY_MS = 1000;

type Kind = FollowerOptions["kind"] | "run";

/** What happens to the server that the follower prefers. */
const FAULTS = {
  frozen: async (server: ServerProcess) => {
    server.pause();
    await standsStill(server.pid);
  },
  "black-holed": async (_: ServerProcess, proxy: FaultProxy) => proxy.loseAnswers(),
  killed: async (server: ServerProcess) => void (await server.end("SIGKILL")),
} as const;
type Fault = keyof typeof FAULTS;

const KINDS: readonly Kind[] = ["election", "roles", "coordinator", "run"];
const ALL = KINDS.flatMap((kind) =>
  (Object.keys(FAULTS) as Fault[]).flatMap((fault) => [2000, 5000].map((ttlMs) => ({ kind, fault, ttlMs }))),
);
const CASES = isChaos ? ALL : [{ kind: "election", fault: "frozen", ttlMs: 1000 } as const];

describe.skipIf(isMissing("nats"))("a follower whose server stops answering", () => {
  const scratch = new Scratch();
  const followers: Follower[] = [];
  let engine: NatsEngine;
  let proxy: FaultProxy | null = null;
  let groups = 0;
  beforeAll(async () => {
    engine = await startNats();
  });
  afterEach(async () => {
    await Promise.all(followers.splice(0).map((each) => each.kill()));
    await proxy?.close();
    await scratch.close();
  });
  afterAll(() => engine.stop());

  function serve(store: string): Promise<ServerProcess> {
    return scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "warn"]);
  }

  async function follower(kind: Kind, nodeId: string, endpoints: readonly string[], ttlMs: number) {
    const options = { groupId: `g${groups}`, nodeId, endpoints, ttlMs, takeoverDelayMs: TAKEOVER_DELAY_MS };
    const made =
      kind === "run"
        ? new RunFollower({ kind: "election", ...options }, directory)
        : new FollowerProcess({ kind, ...options });
    followers.push(made);
    return made;
  }
  let directory = "";

  it.each(CASES)(
    "a follower takes over through the other server: $kind, $fault, ttl $ttlMs ms",
    async ({ kind, fault, ttlMs }) => {
      groups += 1;
      directory = scratch.directory();
      const store = engine.urlOf(`frozen-${groups}`);
      const [one, other] = [await serve(store), await serve(store)];
      proxy = await FaultProxy.open({ host: "127.0.0.1", port: one.port });
      const leader = await follower(kind, "leader", [other.url], ttlMs);
      await leader.leads();
      const next = await follower(kind, "next", [`http://127.0.0.1:${proxy.port}`, other.url], ttlMs);
      await next.follows();
      if (kind === "run" || kind === "election") await untilWaiting([one, other]);

      await FAULTS[fault](one, proxy);
      const killedAtMs = performance.now();
      await leader.kill();
      const tookMs = (await next.leads()) - killedAtMs;

      const delayMs = kind === "coordinator" ? TAKEOVER_DELAY_MS : 0;
      const boundMs = ttlMs * (1 + DRIFT_RATIO) + delayMs + BOUND_MS;
      const told = `${kind}, one of two servers ${fault}, ttl ${ttlMs} ms: took over after ${Math.round(tookMs)} ms`;
      if (isChaos) {
        console.log(told);
        expect(tookMs, told).toBeLessThan(boundMs);
      }
      expect(other.isRunning).toBe(true);
    },
  );
});

/** Waits until a campaign waits at one of them. */
async function untilWaiting(servers: readonly ServerProcess[]): Promise<void> {
  for (;;) {
    for (const { url } of servers) {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      if (/^waiting_campaigns [1-9]/m.test(metrics)) return;
    }
    await sleep(systemClock, 20);
  }
}
