import { campaignRequest } from "@tenure/api";
import { type CampaignRequest, type ElectorAdmin, MemoryStore, StoreElector } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { expect, test } from "vitest";
import { campaignMany } from "./campaign-many.js";
import { asServiceError } from "./service-error.js";

/** Over an elector whose store receives the campaigns of one group late. */
function world(lateGroup: string, lateMs: number) {
  const time = new VirtualClock();
  const clock = time.process();
  const elector: ElectorAdmin = StoreElector.open({ store: new MemoryStore(), clock });
  const campaign = async (request: CampaignRequest, signal: AbortSignal) => {
    if (request.groupId === lateGroup) await new Promise<void>((resolve) => clock.after(lateMs, resolve));
    return elector.campaign(request, { signal });
  };
  const ask = (ttls: Readonly<Record<string, number>>, callerGone?: AbortSignal) => {
    const campaigns = Object.entries(ttls).map(([group_id, lease_ttl_ms]) => ({
      group_id,
      node_id: "a",
      lease_ttl_ms,
    }));
    return campaignMany(
      { campaigns },
      {
        clock,
        callerGone,
        campaign: async ({ group_id, ...body }, signal) => {
          const gone = new Promise<never>((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
          });
          const request = campaignRequest(group_id, body);
          const result = await Promise.race([campaign(request, signal), gone]).catch((error: unknown) => {
            throw asServiceError(error);
          });
          return { is_leader: result.kind === "elected", leader: null };
        },
      },
    );
  };
  return { time, elector, ask };
}

test("a slow group in a batch of campaigns delays the others for at most a quarter of their ttl, and wins nothing later", async () => {
  const { time, elector, ask } = world("slow", 5000);
  let answer: unknown = null;
  void ask({ g: 3000, slow: 4000, h: 60_000 }).then((reply) => (answer = reply));
  await time.advance(749);
  expect(answer).toBeNull();
  await time.advance(1);
  expect(answer).toMatchObject({
    results: [
      { group_id: "g", is_leader: true },
      { group_id: "slow", ok: false, error: "BACKEND_UNAVAILABLE" },
      { group_id: "h", is_leader: true },
    ],
  });
  await time.advance(10_000);
  expect(await elector.leader("slow")).toMatchObject({ leader: null, term: 0 });
  await elector.close();
});

test("an invalid ttl in a batch of campaigns does not shorten the time of the others", async () => {
  const { time, elector, ask } = world("late", 240);
  const answered = ask({ g: 1, late: 60_000 });
  await time.advance(250);
  expect((await answered).results).toMatchObject([{ error: "INVALID_TTL" }, { is_leader: true }]);
  await elector.close();
});

test("a disconnected caller wins nothing more by any campaign of its batch", async () => {
  const { time, elector, ask } = world("late", 100);
  const callerGone = new AbortController();
  const gone = new Error("hung up");
  const failure = ask({ g: 3000, late: 3000 }, callerGone.signal).catch((error: unknown) => error);
  await time.advance(50);
  callerGone.abort(gone);
  expect(await failure).toBe(gone);
  await time.advance(1000);
  expect(await elector.leader("late")).toMatchObject({ leader: null, term: 0 });
  await elector.close();
});
