/** Writes whose answer was lost are uncertain. Deciding them again must have the same effect, once. */
import { describe, expect, test } from "vitest";
import { TenureError } from "../errors.js";
import type { ElectionRecord } from "../record.js";
import type { StoreElector } from "./store-elector.js";
import {
  A,
  B,
  claimOf,
  type Fate,
  inWorld,
  late,
  lostAnswer,
  lostRequest,
  type ScriptedStore,
  slowly,
  stateOf,
  withoutCause,
  type World,
  wonBy,
} from "./world.test-kit.js";

interface Verb {
  readonly name: string;
  /** Preparation; its result is passed to `act`. */
  readonly before?: (elector: StoreElector) => Promise<unknown>;
  readonly act: (elector: StoreElector, before: unknown) => Promise<unknown>;
  /** Later steps of other nodes, if the operation needs them. */
  readonly later?: (elector: StoreElector) => Promise<unknown>;
  readonly answer: object | undefined;
  readonly record: { readonly [K in keyof ElectionRecord]?: unknown };
}

const OPS = { groupId: "g", by: "ops" };
const LED_BY_A = { term: 1, eventNumber: 1, holder: { nodeId: "a", instanceId: "a1" } };

const leads = (elector: StoreElector) => elector.campaign(A);

/** `a` leads and `b` waits; the promise of the wait is passed on. */
async function waits(elector: StoreElector): Promise<unknown> {
  await elector.campaign(A);
  return { waiting: elector.campaign({ ...B, waitMs: 60_000 }) };
}

const VERBS: readonly Verb[] = [
  {
    name: "campaign",
    act: (elector) => elector.campaign(A),
    answer: { kind: "elected", leader: { nodeId: "a", term: 1 } },
    record: LED_BY_A,
  },
  {
    name: "confirmation",
    before: leads,
    act: (elector) => elector.campaign(A),
    answer: { kind: "elected", leader: { nodeId: "a", term: 1 }, confirmed: true },
    record: LED_BY_A,
  },
  {
    name: "renew",
    before: leads,
    act: (elector) => elector.renew({ ...claimOf(A, 1), ttlMs: 2000 }),
    answer: { kind: "renewed", leader: { nodeId: "a", term: 1 } },
    record: { ...LED_BY_A, holdMs: 2020 },
  },
  {
    name: "resign",
    before: leads,
    act: (elector) => elector.resign(claimOf(A, 1)),
    answer: { kind: "resigned" },
    record: { term: 1, eventNumber: 2, holder: null, ended: { reason: "resigned" } },
  },
  {
    name: "the grant of a waiting campaign",
    before: waits,
    act: async (elector, before) => {
      await elector.resign(claimOf(A, 1));
      return (before as { waiting: Promise<unknown> }).waiting;
    },
    answer: { kind: "elected", leader: { nodeId: "b", term: 2 } },
    record: { term: 2, eventNumber: 3, holder: { nodeId: "b" } },
  },
  {
    name: "stepDown",
    before: leads,
    act: (elector) => elector.stepDown({ ...OPS, banMs: 5000 }),
    answer: undefined,
    record: { ...LED_BY_A, deposed: { by: "ops" }, bans: [{ nodeId: "a" }] },
  },
  {
    name: "stepDown by force",
    before: waits,
    act: (elector) => elector.stepDown({ ...OPS, force: true }),
    answer: undefined,
    record: { term: 2, eventNumber: 3, holder: { nodeId: "b" }, deposed: null, ended: { reason: "deposed" } },
  },
  {
    name: "transfer",
    before: waits,
    act: (elector) => elector.transfer({ ...OPS, toNodeId: "b" }),
    later: (elector) => elector.resign(claimOf(A, 1)),
    answer: { nodeId: "b", term: 2 },
    record: { term: 2, eventNumber: 3, holder: { nodeId: "b" }, ended: { reason: "transferred" } },
  },
  {
    name: "pause",
    before: leads,
    act: (elector) => elector.pause({ groupId: "g" }),
    answer: undefined,
    record: { ...LED_BY_A, pause: { leftMs: null } },
  },
  {
    name: "resume",
    before: async (elector) => {
      await elector.campaign(A);
      await elector.pause({ groupId: "g" });
    },
    act: (elector) => elector.resume({ groupId: "g" }),
    answer: undefined,
    record: { ...LED_BY_A, pause: null },
  },
  {
    name: "createGroup",
    act: (elector) => elector.createGroup({ groupId: "g", allowedNodes: ["a"] }),
    answer: { groupId: "g", allowedNodes: ["a"], explicit: true },
    record: { term: 0, eventNumber: 0, config: { allowedNodes: ["a"] } },
  },
  {
    name: "updateGroup",
    before: (elector) => elector.createGroup({ groupId: "g", allowedNodes: ["a"] }),
    act: (elector) => elector.updateGroup({ groupId: "g", policy: { takeoverDelayMs: 100 } }),
    answer: { allowedNodes: ["a"], policy: { takeoverDelayMs: 100 } },
    record: { term: 0, config: { allowedNodes: ["a"], policy: { takeoverDelayMs: 100 } } },
  },
  {
    name: "deleteGroup",
    before: leads,
    act: (elector) => elector.deleteGroup({ ...OPS, force: true }),
    answer: undefined,
    record: { term: 1, eventNumber: 2, holder: null, deleted: true },
  },
];

const FATES: readonly {
  readonly name: string;
  readonly script: (store: ScriptedStore, world: World) => void;
}[] = [
  { name: "was written", script: (store) => store.next("r/", lostAnswer) },
  { name: "was never written", script: (store) => store.next("r/", lostRequest) },
  { name: "was lost twice", script: (store) => store.next("r/", lostRequest, 2) },
  {
    name: "is written late, after it was decided again",
    script: (store, { clock }) => store.next("r/", late(clock, 20)),
  },
  {
    name: "is written late, before what was decided again",
    script: (store, { clock }) => {
      store.next("r/", late(clock, 20));
      store.next(
        "r/",
        slowly(clock, 40, (apply) => apply()),
      );
    },
  },
  {
    name: "was refused without a cause",
    script: (store) => store.next("r/", withoutCause(store.inner), 3),
  },
];

/** The answer, or the error with its code. */
function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: unknown) => {
    if (error instanceof TenureError) return error;
    throw error;
  });
}

describe.each(VERBS)("$name", ({ before, act, later, answer, record }) => {
  test.each(FATES)("an operation whose write $name takes effect exactly once", ({ script }) =>
    inWorld(async (w) => {
      const { elector, store } = w.server();
      await w.clock.advance(0);
      const prepared = await before?.(elector);
      await w.clock.advance(0);
      script(store, w);
      const outcome = outcomeOf(act(elector, prepared));
      await w.clock.advance(60);
      await later?.(elector);
      const { value } = await w.until(outcome);
      if (answer === undefined) expect(value).toBeUndefined();
      else expect(value).toMatchObject(answer);
      await w.clock.advance(100);
      expect(await w.record()).toMatchObject(record);
      const { eventNumber, deleted } = await w.record();
      const numbers = Array.from({ length: eventNumber }, (_, i) => i + 1);
      const { events, acts } = await elector.history("g");
      const history = events.map(({ number }) => number);
      // A deletion drops all events but the last.
      expect(history.slice(deleted ? -1 : 0)).toEqual(deleted ? numbers.slice(-1) : numbers);
      // Acts of the preparation are different ones.
      const names = acts.map(({ act }) => act);
      expect(names).toEqual([...new Set(names)]);
    })(),
  );
});

test(
  "a resign whose answer was lost is answered as resigned, even if the next leader was elected since",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    one.store.next("r/", lostAnswer);
    const letSyncs = one.store.holdSyncs();
    const resign = one.elector.resign(claimOf(A, 1));
    await w.clock.advance(0);
    expect(wonBy(await two.elector.campaign(B))).toBe("b");
    letSyncs();
    expect((await w.until(resign)).value).toEqual({ kind: "resigned" });
    expect(await w.record()).toMatchObject({ term: 2, holder: { nodeId: "b" } });
  }),
);

test(
  "an uncertain renewal of a lease that another node took meanwhile is answered NOT_LEADER",
  inWorld(async (w) => {
    const one = w.server();
    const two = w.server();
    await one.elector.campaign(A);
    one.store.next("r/", lostRequest);
    const letSyncs = one.store.holdSyncs();
    const renewal = one.elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    await w.clock.advance(0);
    await two.elector.stepDown({ ...OPS, force: true });
    await two.elector.campaign(B);
    letSyncs();
    expect((await w.until(renewal)).value).toEqual({
      kind: "not-leader",
      currentLeader: { nodeId: "b", term: 2 },
    });
  }),
);

test(
  "a call whose write is uncertain fails with BackendUnavailableError if the following read fails too",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    const verbs: readonly [string, (of: typeof elector) => Promise<unknown>][] = [
      ["campaign", (of) => of.campaign(A)],
      ["renew", (of) => of.renew({ ...claimOf(A, 1), ttlMs: 1000 })],
      ["pause", (of) => of.pause({ groupId: "g" })],
      ["resign", (of) => of.resign(claimOf(A, 1))],
    ];
    for (const [name, call] of verbs) {
      store.next("r/", lostAnswer);
      store.onSync = () => Promise.reject(new Error("no quorum"));
      const { value } = await w.until(outcomeOf(call(elector)));
      expect([name, value]).toMatchObject([name, { code: "BACKEND_UNAVAILABLE" }]);
      store.mend();
    }
    expect(await w.record()).toMatchObject({ term: 1, holder: null });
  }),
);

test(
  "an operation behind an uncertain write of the same group does not wait for that write's read",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    await elector.campaign(A);
    store.next("r/", lostRequest);
    const letSyncs = store.holdSyncs();
    const first = elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    const second = elector.renew({ ...claimOf(A, 1), ttlMs: 1000 });
    await w.clock.advance(0);
    expect([await stateOf(first), await stateOf(second)]).toEqual(["pending", "fulfilled"]);
    letSyncs();
    expect((await w.until(first)).value).toMatchObject({ kind: "renewed" });
  }),
);

test(
  "an uncertain operation of a batch does not affect the others",
  inWorld(async (w) => {
    const { elector, store } = w.server();
    const groups = ["x", "y", "z"];
    for (const groupId of groups) await elector.campaign({ ...A, groupId });
    const lossy: Fate = lostRequest;
    store.next("r/y", lossy);
    const letSyncs = store.holdSyncs();
    const each = groups.map((groupId) =>
      elector.renew({ groupId, nodeId: "a", term: 1, ttlMs: 1000, instanceId: "a1" }),
    );
    await w.clock.advance(0);
    expect(await Promise.all(each.map((renewal) => stateOf(renewal)))).toEqual([
      "fulfilled",
      "pending",
      "fulfilled",
    ]);
    letSyncs();
    expect((await w.until(Promise.all(each))).value.map(({ kind }) => kind)).toEqual([
      "renewed",
      "renewed",
      "renewed",
    ]);
  }),
);
