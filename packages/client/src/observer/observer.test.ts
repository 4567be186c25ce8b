import {
  BackendUnavailableError,
  type Elector,
  type ElectorAdmin,
  InvalidRequestError,
  type Leadership,
  type WatchEvent,
} from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { World } from "../election/world.test-kit.js";
import type { ObserverEvent } from "./observed.js";
import { Observer } from "./observer.js";
import { altered } from "./observer.test-kit.js";
import type { ObserverOptions } from "./options.js";

describe("Observer", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  /** An observer in its own process, with its own elector. */
  function observer(
    over: (elector: Elector) => Elector = (elector) => elector,
    options: Partial<ObserverOptions> = {},
  ): Observer {
    const { elector, clock } = world.participant("watcher");
    return new Observer(over(elector), {
      groupId: "g",
      clock,
      random: () => world.random.next(),
      ...options,
    });
  }

  const at = (address: string) => ({ metadata: { address } });

  test("an observer of a group that was never led shows no leader", async () => {
    const watcher = observer();
    await watcher.start();
    expect(watcher.leader()).toBe(null);
    expect(watcher.status()).toEqual({
      leader: null,
      term: 0,
      connection: "connected",
      staleMs: 0,
      error: null,
    });
    await watcher.stop();
  });

  test("an observer shows the leader with its metadata and address, and only while it leads", async () => {
    const a = world.participant("a", { metadata: { address: "a:80", zone: 1 } });
    await a.election.start();
    const watcher = observer();
    await watcher.start();
    expect(watcher.leader()).toEqual({
      nodeId: "a",
      term: 1,
      metadata: { address: "a:80", zone: 1 },
      address: "a:80",
    });
    await a.election.stop();
    await world.clock.advance(10_000);
    expect(watcher.leader()).toBe(null);
    expect(watcher.status().term).toBe(1);
    await watcher.stop();
  });

  test("the address option may compute the leader's address from the metadata", async () => {
    await world.participant("a", { metadata: { host: "a", port: 80 } }).election.start();
    const watcher = observer(undefined, {
      address: ({ host, port }) => `${String(host)}:${String(port)}`,
    });
    await watcher.start();
    expect(watcher.leader()?.address).toBe("a:80");
    await watcher.stop();
  });

  test.each([
    ["has no metadata", undefined],
    ["has an address that is not a string", { address: 80 }],
  ])("a leader that %s has no address", async (_what, metadata) => {
    await world.participant("a", { metadata }).election.start();
    const watcher = observer();
    await watcher.start();
    expect(watcher.leader()).toEqual({ nodeId: "a", term: 1, metadata: metadata ?? null, address: null });
    await watcher.stop();
  });

  test("an observer reports each change at once, and the new leader's metadata after it", async () => {
    const a = world.participant("a", at("a:80"));
    const b = world.participant("b", at("b:80"));
    const watcher = observer();
    const told: unknown[] = [];
    watcher.onLeaderChange(({ nodeId, term, reason }, previousId) =>
      told.push([nodeId, term, reason, previousId]),
    );
    const events = collect(watcher.changes());
    await watcher.start();
    await a.election.start();
    await b.election.start();
    await world.clock.advance(100);
    const stopping = a.election.stop();
    await world.clock.advance(100);
    await stopping;
    expect(watcher.leader()).toMatchObject({ nodeId: "b", term: 2, address: "b:80" });
    await b.election.stop();
    await world.clock.advance(100);
    await watcher.stop();
    expect(told).toEqual([
      [null, 0, "none", null],
      ["a", 1, "none", null],
      [null, 1, "resigned", "a"],
      ["b", 2, "resigned", "a"],
      [null, 2, "resigned", "b"],
    ]);
    expect((await events).map(summary)).toEqual([
      "connection connected",
      "leader null",
      "leader a",
      "details a a:80",
      "leader null",
      "leader b",
      "details b b:80",
      "leader null",
    ]);
  });

  test("an old leader's metadata is never shown with the term of the new leader", async () => {
    const a = world.participant("a", at("a:80"));
    const b = world.participant("b", at("b:80"));
    await a.election.start();
    await b.election.start();
    // Answers from before the change that arrive after it.
    let hold: Promise<void> | null = null;
    let asked = 0;
    const watcher = observer((elector) =>
      altered(elector, {
        leader: async (groupId, options): Promise<Leadership> => {
          asked += 1;
          const answer = await elector.leader(groupId, options);
          await hold;
          return answer;
        },
      }),
    );
    let release = (): void => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const started = watcher.start();
    await world.clock.advance(10);
    const stopping = a.election.stop();
    await world.clock.advance(10);
    await stopping;
    expect(watcher.leader()).toEqual({ nodeId: "b", term: 2, metadata: null, address: null });
    hold = null;
    release();
    await started;
    expect(watcher.leader()).toEqual({ nodeId: "b", term: 2, metadata: null, address: null });
    expect(asked).toBe(1);
    // An answer is as old as its request.
    expect(watcher.staleMs()).toBe(20);
    await world.clock.advance(100);
    expect(watcher.leader()).toMatchObject({ nodeId: "b", term: 2, address: "b:80" });
    await b.election.stop();
    await watcher.stop();
  });

  test("an observer reports the missing metadata of a new leader too", async () => {
    const a = world.participant("a", at("a:80"));
    const b = world.participant("b");
    await a.election.start();
    await b.election.start();
    const watcher = observer();
    const events = collect(watcher.changes());
    await watcher.start();
    await a.election.stop();
    await world.clock.advance(100);
    await watcher.stop();
    expect((await events).map(summary).slice(-2)).toEqual(["leader b", "details b null"]);
    await b.election.stop();
  });

  test("an observer notices a change by its periodic read if the watch is silent", async () => {
    const a = world.participant("a", at("a:80"));
    await a.election.start();
    const watcher = observer(
      (elector) => altered(elector, { watch: (_groupId, options) => silent(options?.signal) }),
      {
        checkIntervalMs: 4000,
      },
    );
    await watcher.start();
    expect(watcher.leader()?.nodeId).toBe("a");
    await world.clock.advance(3000);
    expect(watcher.staleMs()).toBe(3000);
    await a.election.stop();
    const b = world.participant("b", at("b:80"));
    await b.election.start();
    expect(watcher.leader()?.nodeId).toBe("a");
    await world.clock.advance(1001);
    expect(watcher.leader()).toMatchObject({ nodeId: "b", address: "b:80" });
    expect(watcher.staleMs()).toBe(1);
    await b.election.stop();
    await world.clock.advance(4000);
    expect(watcher.leader()).toBe(null);
    await watcher.stop();
  });

  test("an observer retries an elector that does not answer, and reports a growing staleMs", async () => {
    await world.participant("a", at("a:80")).election.start();
    let down = true;
    const refused = new BackendUnavailableError("the store is gone");
    const watcher = observer((elector) =>
      altered(elector, {
        leader: (groupId, options) => (down ? Promise.reject(refused) : elector.leader(groupId, options)),
        watch: (groupId, options) => (down ? failing(refused) : elector.watch(groupId, options)),
      }),
    );
    await watcher.start();
    expect(watcher.status()).toEqual({
      leader: null,
      term: 0,
      connection: "disconnected",
      staleMs: Number.POSITIVE_INFINITY,
      error: refused,
    });
    await world.clock.advance(60_000);
    down = false;
    await world.clock.advance(5000);
    expect(watcher.status()).toMatchObject({ connection: "connected", error: null, term: 1 });
    expect(watcher.leader()?.address).toBe("a:80");
    down = true;
    await world.clock.advance(60_000);
    expect(watcher.status()).toMatchObject({ connection: "disconnected", error: refused });
    expect(watcher.staleMs()).toBeGreaterThan(50_000);
    expect(watcher.leader()?.nodeId).toBe("a");
    await watcher.stop();
  });

  test("an unanswered read is abandoned after connectionTimeoutMs", async () => {
    const watcher = observer(
      (elector) => altered(elector, { leader: (_groupId, options) => never(options?.signal) }),
      { connectionTimeoutMs: 700 },
    );
    const started = watcher.start();
    await world.clock.advance(699);
    expect(watcher.status().connection).not.toBe("disconnected");
    await world.clock.advance(1);
    await started;
    expect(watcher.status().connection).toBe("disconnected");
    await watcher.stop();
  });

  test("an observer hook that throws is reported and has no other effect", async () => {
    await world.participant("a", at("a:80")).election.start();
    const watcher = observer(undefined, {
      address: () => {
        throw new Error("no address");
      },
    });
    watcher.onLeaderChange(() => {
      throw new Error("no hook");
    });
    const events = collect(watcher.changes());
    await watcher.start();
    expect(watcher.leader()).toMatchObject({ nodeId: "a", metadata: { address: "a:80" }, address: null });
    await watcher.stop();
    expect((await events).map(summary)).toContain("hook-failed address: no address");
    expect((await events).map(summary)).toContain("hook-failed onLeaderChange: no hook");
  });

  test("the observer's history is that of the elector, if it keeps one", async () => {
    const a = world.participant("a");
    await a.election.start();
    await a.election.stop();
    const watcher = observer();
    expect((await watcher.history()).map(({ type, term }) => [type, term])).toEqual([
      ["LEADER_CHANGED", 1],
      ["LEADER_LOST", 1],
    ]);
    const without = observer((elector) =>
      altered(elector as ElectorAdmin, { history: undefined } as unknown as Partial<ElectorAdmin>),
    );
    await expect(without.history()).rejects.toThrow(InvalidRequestError);
  });

  test("an observer stops once and for good, and its readers end", async () => {
    const watcher = observer();
    const events = collect(watcher.changes());
    await watcher.start();
    await Promise.all([watcher.stop(), watcher.stop(), watcher[Symbol.asyncDispose]()]);
    expect((await events).length).toBeGreaterThan(0);
    await expect(watcher.start()).rejects.toMatchObject({ code: "CLOSED" });
    const a = world.participant("a");
    await a.election.start();
    await world.clock.advance(60_000);
    expect(watcher.leader()).toBe(null);
  });

  test("start resolves if the observer is stopped before the first answer", async () => {
    const watcher = observer((elector) =>
      altered(elector, { leader: (_groupId, options) => never(options?.signal) }),
    );
    const started = watcher.start();
    await watcher.stop();
    await started;
  });

  test.each([
    ["groupId", { groupId: "" }],
    ["address", { address: "metadata.address" }],
    ["checkIntervalMs", { checkIntervalMs: 0 }],
    ["connectionTimeoutMs", { connectionTimeoutMs: 0.5 }],
    ["retry.maxAttempts", { retry: { maxAttempts: 3 } }],
    ["retry.jitter", { retry: { jitter: 2 } }],
    ["ttlMs", { ttlMs: 1000 }],
  ])("wrong options of an observer are refused by name: %s", (field, options) => {
    expect(() => observer(undefined, options as Partial<ObserverOptions>)).toThrow(
      expect.objectContaining({ code: "INVALID_REQUEST", field }),
    );
  });

  test("an observer hook can be set once, and only before start", async () => {
    const watcher = observer();
    watcher.onLeaderChange(() => {});
    expect(() => watcher.onLeaderChange(() => {})).toThrow(/already/);
    const other = observer();
    await other.start();
    expect(() => other.onLeaderChange(() => {})).toThrow(/before start/);
    await other.stop();
  });
});

function summary(event: ObserverEvent): string {
  switch (event.kind) {
    case "leader-changed":
      return `leader ${event.leader.nodeId}`;
    case "details":
      return `details ${event.leader.nodeId} ${event.leader.address}`;
    case "connection":
      return `connection ${event.status}`;
    case "hook-failed":
      return `hook-failed ${event.hook}: ${(event.error as Error).message}`;
  }
}

async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of iterable) all.push(each);
  return all;
}

function never(signal?: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

/** A dead connection that neither side has noticed. */
async function* silent(signal?: AbortSignal): AsyncGenerator<WatchEvent> {
  yield* [];
  await never(signal);
}

async function* failing(error: Error): AsyncGenerator<WatchEvent> {
  yield* [];
  throw error;
}
