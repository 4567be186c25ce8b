import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Broadcast } from "./broadcast.js";
import type { ElectionEvent } from "./state.js";
import { out } from "./scripted-elector.test-kit.js";
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
