import { UnauthorizedError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Broadcast } from "./broadcast.js";
import type { ElectionEvent } from "./state.js";
import { out, refused } from "./scripted-elector.test-kit.js";
import { NO_METRICS } from "./telemetry.js";
import { failureOf, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

async function all(events: AsyncIterable<ElectionEvent>): Promise<ElectionEvent[]> {
  const seen: ElectionEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

describe("changes", () => {
  test("changes() delivers every event to every reader in order, from its call to the end of the election", async () => {
    const a = world.scripted("a");
    const [one, two] = [all(a.election.changes()), all(a.election.changes())];
    const late = a.election.changes();
    await a.election.start();
    await world.clock.advance(10);
    const afterStart = all(a.election.changes());
    await world.until(a.election.stop());
    const kinds = (await one).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind !== "connection" && kind !== "leader-changed")).toEqual([
      "promoted",
      "demoting",
      "demoted",
      "stopped",
    ]);
    expect(await two).toEqual(await one);
    expect(await all(late)).toEqual(await one);
    expect((await afterStart).map(({ kind }) => kind)).toEqual([
      "demoting",
      "demoted",
      "leader-changed",
      "stopped",
    ]);
    expect(await all(a.election.changes())).toEqual([]);
  });

  test("a signal ends changes() for its own reader only", async () => {
    const a = world.participant("a");
    const leaving = new AbortController();
    const reader = failureOf(all(a.election.changes({ signal: leaving.signal })));
    const other = all(a.election.changes());
    await a.election.start();
    leaving.abort(new Error("enough"));
    expect(await reader).toMatchObject({ message: "enough" });
    await world.until(a.election.stop());
    expect((await other).at(-1)).toEqual({ kind: "stopped" });
  });

  test("a reader of changes() that falls too far behind gets SLOW_READER, and does not delay other readers", async () => {
    const events = new Broadcast<number>();
    const [slow, slower, quick] = [events.read(), events.read(), events.read()];
    for (let i = 0; i < 1025; i += 1) {
      events.emit(i);
      expect(await quick.next()).toEqual({ done: false, value: i });
      if (i === 1000) expect(await slow.next()).toEqual({ done: false, value: 0 });
    }
    expect(await slow.next()).toEqual({ done: false, value: 1 });
    expect(await failureOf(slower.next())).toMatchObject({ code: "SLOW_READER" });
    expect(await slower.next()).toEqual({ done: true, value: undefined });
  });

  test("changes() reports each change of the connection status", async () => {
    const a = world.scripted("a");
    const seen = all(a.election.changes());
    await a.election.start();
    a.elector.always(out, "renew");
    await world.clock.advance(300);
    a.elector.mend();
    await world.clock.advance(300);
    await world.until(a.election.stop());
    const states = (await seen).flatMap((event) => (event.kind === "connection" ? [event.status] : []));
    expect(states).toEqual(["connected", "disconnected", "connected"]);
  });
});

describe("what changes() reports about requests", () => {
  const kindsOf = (events: readonly ElectionEvent[], ...kinds: readonly ElectionEvent["kind"][]) =>
    events.filter(({ kind }) => kinds.includes(kind));

  test("changes() reports each refused campaign with its error and the time of the next one", async () => {
    const a = world.scripted("a");
    const seen = all(a.election.changes());
    a.elector.next("campaign", out);
    const error = new UnauthorizedError("a is not an allowed node");
    a.elector.next("campaign", refused(error), 2);
    await world.until(a.election.start());
    await world.until(a.election.untilLeader());
    await world.until(a.election.stop());
    const failed = { kind: "request-failed", request: "campaign", error, permanent: true, retryInMs: 5000 };
    expect(kindsOf(await seen, "request-failed")).toEqual([
      expect.objectContaining({ request: "campaign", permanent: false }),
      failed,
      failed,
    ]);
    const campaigns = a.elector.made("campaign").map(({ atMs }) => atMs);
    expect((campaigns[2] as number) - (campaigns[1] as number)).toBe(5000);
  });

  test("changes() reports a campaign whose refusal makes the election fail, without a next one", async () => {
    const a = world.scripted("a");
    const seen = all(a.election.changes());
    const error = new UnauthorizedError("a is not an allowed node");
    a.elector.always(refused(error), "campaign");
    expect(await failureOf(a.election.start())).toBe(error);
    expect(kindsOf(await seen, "request-failed", "failed")).toEqual([
      { kind: "request-failed", request: "campaign", error, permanent: true, retryInMs: null },
      { kind: "failed", error },
    ]);
  });

  test("changes() reports each lost campaign with the leader, or with what holds the group back", async () => {
    const a = world.participant("a");
    await a.election.start();
    const b = world.participant("b", { campaignWaitMs: 0 });
    const seen = all(b.election.changes());
    await b.election.start();
    await world.operator.pause({ groupId: "g", forMs: 9000 });
    await world.until(a.election.stop());
    await world.clock.advance(3000);
    await world.until(b.election.stop());
    const lost = kindsOf(await seen, "campaign-lost");
    expect(lost[0]).toEqual({ kind: "campaign-lost", leader: { nodeId: "a", term: 1 } });
    expect(lost.at(-1)).toMatchObject({ leader: null, heldBack: "paused" });
    expect((lost.at(-1) as { heldBackForMs?: number }).heldBackForMs).toBeGreaterThan(0);
  });

  test("a leader whose renewal is refused reports the refusal with the loss of its leadership", async () => {
    const a = world.scripted("a");
    const seen = all(a.election.changes());
    await a.election.start();
    const error = new UnauthorizedError("a is not an allowed node");
    a.elector.always(refused(error), "renew");
    let stateWhenLost = a.election.status().state;
    a.election.signal?.addEventListener("abort", () => (stateWhenLost = a.election.status().state));
    await world.until(a.election.untilDemoted());
    await world.until(a.election.stop());
    expect(stateWhenLost).toMatchObject({ kind: "stepping-down", reason: "refused", error });
    expect(kindsOf(await seen, "demoting", "demoted").slice(0, 2)).toMatchObject([
      { kind: "demoting", reason: "refused", error },
      { kind: "demoted", reason: "refused", error },
    ]);
  });
});

describe("The states of an election", () => {
  const moves = (path: string) =>
    path
      .split(" ")
      .slice(1)
      .map((to, i) => [path.split(" ")[i], to]);

  test.each<[string, string, (drive: Drive) => Promise<void>]>([
    ["stopped before it started", "idle stopped", async () => {}],
    [
      "stopped while it follows",
      "idle following stopped",
      async ({ start, rival }) => {
        await rival();
        await start();
      },
    ],
    [
      "stopped while it leads",
      "idle following leading stepping-down resigning stopped",
      async ({ start }) => start(),
    ],
    [
      "lost and won again",
      "idle following leading stepping-down resigning following leading stepping-down resigning stopped",
      async ({ start, resign }) => {
        await start();
        await resign();
      },
    ],
    [
      "unhealthy as a leader",
      "idle following leading stepping-down resigning following unhealthy stopped",
      async ({ start, fallIll }) => {
        await start();
        await fallIll();
      },
    ],
    [
      "unhealthy from the start, then healthy",
      "idle following unhealthy following leading stepping-down resigning stopped",
      async ({ start, fallIll, recover }) => {
        await fallIll();
        void start();
        await recover();
      },
    ],
    [
      "refused",
      "idle following failed",
      async ({ start, refuse }) => {
        refuse();
        await start();
      },
    ],
  ])("an election that is %s passes through: %s", async (_name, path, run) => {
    const seen: [string, string][] = [];
    const leads: boolean[] = [];
    let healthy = true;
    const metrics = {
      ...NO_METRICS,
      transition: (_labels: object, from: string, to: string) => seen.push([from, to]),
      isLeader: (_labels: object, is: boolean) => leads.push(is),
    };
    const a = world.scripted("a", { metrics, healthChecker: () => healthy });
    const b = world.participant("b");
    await run({
      start: () => a.election.start().catch(() => {}),
      rival: () => b.election.start(),
      resign: async () => {
        a.election.resign();
        await world.clock.advance(1);
      },
      fallIll: async () => {
        healthy = false;
        await world.clock.advance(200);
      },
      recover: async () => {
        await world.clock.advance(300);
        healthy = true;
        await world.clock.advance(300);
      },
      refuse: () =>
        a.elector.next("campaign", () =>
          Promise.reject(Object.assign(new Error("no"), { code: "UNAUTHORIZED" })),
        ),
    });
    await world.until(a.election.stop());
    await world.until(b.election.stop());
    expect(seen).toEqual(moves(path));
    expect(leads).toEqual(seen.map(([, to]) => to === "leading"));
  });
});

interface Drive {
  readonly start: () => Promise<void>;
  readonly rival: () => Promise<void>;
  readonly resign: () => Promise<void>;
  readonly fallIll: () => Promise<void>;
  readonly recover: () => Promise<void>;
  readonly refuse: () => void;
}
