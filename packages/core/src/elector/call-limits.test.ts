/** The time limit of a store call depends on the groups whose operations it carries, never on another group. */
import { expect, test } from "vitest";
import { sleep } from "../clock.js";
import type { CampaignRequest, RenewManyResult } from "../elector.js";
import { TenureError } from "../errors.js";
import type { CasOp, CasOutcome } from "../store/store.js";
import { claimOf, failureOf, inWorld, ScriptedStore, silence, type World, wonBy } from "./world.test-kit.js";

const SLOW_MS = 150;
const LONG: CampaignRequest = { groupId: "long", nodeId: "a", instanceId: "a1", ttlMs: 30_000 };
const SHORT: CampaignRequest = { groupId: "short", nodeId: "b", instanceId: "b1", ttlMs: 500 };

/** From now on the store is healthy but takes `SLOW_MS` per call: too slow for a ttl of 500 ms, quick for 30 s. */
function slowDown(world: World, store: ScriptedStore): void {
  store.always("", async (apply) => {
    await sleep(world.clock, SLOW_MS);
    return apply();
  });
  store.onSync = async (apply) => {
    await sleep(world.clock, SLOW_MS);
    return apply();
  };
}

async function outcomeOf(work: Promise<{ readonly kind: string }>): Promise<string> {
  return work.then(
    ({ kind }) => kind,
    (error: unknown) => (error instanceof TenureError ? error.code : String(error)),
  );
}

for (const neighbour of [false, true]) {
  test(
    `a leader with a ttl of 30 s renews over a slow store, ${neighbour ? "beside" : "without"} a neighbour with a ttl of 500 ms`,
    inWorld(async (world) => {
      const { elector, store } = world.server();
      expect(wonBy(await elector.campaign(LONG))).toBe("a");
      if (neighbour) expect(wonBy(await elector.campaign(SHORT))).toBe("b");
      slowDown(world, store);
      const outcomes: string[] = [];
      for (let i = 0; i < 50; i++) {
        const renewal = outcomeOf(elector.renew({ ...claimOf(LONG, 1), ttlMs: 30_000 }));
        // The neighbour's renewals go out in the same turn and fail, because the store is too slow for that ttl.
        if (neighbour) void outcomeOf(elector.renew({ ...claimOf(SHORT, 1), ttlMs: 500 }));
        outcomes.push((await world.until(renewal)).value);
      }
      expect(new Set(outcomes)).toEqual(new Set(["renewed"]));
      expect((await world.until(elector.leader("long"))).value.leader?.nodeId).toBe("a");
    }),
  );
}

test(
  "a batch of renewals gives each group the limit of its own ttl",
  inWorld(async (world) => {
    const { elector, store } = world.server();
    await elector.campaign(LONG);
    await elector.campaign(SHORT);
    slowDown(world, store);
    const renewals = [
      { ...claimOf(LONG, 1), ttlMs: 30_000 },
      { ...claimOf(SHORT, 1), ttlMs: 500 },
    ];
    const { value } = await world.until(elector.renewMany(renewals));
    expect(value.map((each: RenewManyResult) => each.kind)).toEqual(["renewed", "failed"]);
  }),
);

test(
  "a listed renewal with a ttl that is too short is refused for its ttl, also over a slow store",
  inWorld(async (world) => {
    const { elector, store } = world.server();
    await elector.campaign(LONG);
    slowDown(world, store);
    const { value } = await world.until(elector.renewMany([{ ...claimOf(LONG, 1), ttlMs: 100 }]));
    expect(value).toMatchObject([{ kind: "failed", error: { code: "INVALID_TTL" } }]);
  }),
);

/** One batch in flight at a time, as over PostgreSQL and the embedded store. */
class OnePlace extends ScriptedStore {
  readonly batches: (readonly CasOp[])[] = [];

  override compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    this.batches.push(batch);
    return super.compareAndSet(batch);
  }
}

test(
  "a write of a 30 s group that hangs does not cost a neighbour with a ttl of 500 ms its lease",
  inWorld(async (world) => {
    const store = new OnePlace(world.truth, {
      batchOps: 100,
      batchesInFlight: 1,
      keyLength: 512,
      valueBytes: 1000,
    });
    const elector = world.elector({ store });
    await elector.campaign(LONG);
    await elector.campaign(SHORT);
    store.next("r/long", silence);
    const hung = outcomeOf(elector.renew({ ...claimOf(LONG, 1), ttlMs: 30_000 }));
    await world.clock.advance(10);
    const renewal = elector.renew({ ...claimOf(SHORT, 1), ttlMs: 500 });
    const { value, tookMs } = await world.until(renewal);
    expect(value.kind).toBe("renewed");
    // It waits for a place for at most a quarter of its ttl.
    expect(tookMs).toBeLessThanOrEqual(125);
    expect((await world.until(hung)).value).toBe("renewed");
  }),
);

test(
  "a denial in a group with a short ttl is answered over a store that is too slow for that ttl",
  inWorld(async (world) => {
    const { elector, store } = world.server();
    await elector.campaign(SHORT);
    slowDown(world, store);
    // No lease depends on a read, so it may take longer than a quarter of the ttl.
    const renewal = elector.renew({ ...claimOf({ ...SHORT, nodeId: "c" }, 1), ttlMs: 500 });
    expect((await world.until(renewal)).value.kind).toBe("not-leader");
    expect((await world.until(elector.resign(claimOf(SHORT, 7)))).value.kind).toBe("not-leader");
  }),
);

test(
  "a read gets the longest limit, even beside a leader with a short ttl",
  inWorld(async (world) => {
    const { elector, store } = world.server();
    await elector.campaign(SHORT);
    slowDown(world, store);
    expect((await world.until(elector.leader("other"))).value.leader).toBeNull();
    store.onSync = () => new Promise(() => {});
    const { tookMs } = await world.until(failureOf(elector.leader("other")));
    expect(tookMs).toBe(1000);
  }),
);
