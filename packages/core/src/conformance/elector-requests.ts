/** Laws of malformed requests: the error names the field, and nothing is written. */
import assert from "node:assert/strict";
import type { CampaignRequest, RenewRequest } from "../elector.js";
import type { ElectorAdmin } from "../elector-admin.js";
import { InvalidRequestError, InvalidTtlError } from "../errors.js";
import {
  type AdminBench,
  candidate,
  claimOf,
  type ElectorLaw,
  LONG_MS,
  mark,
  newGroupId,
  watching,
  win,
} from "./elector-support.js";

type Fields = Readonly<Record<string, unknown>>;

const BAD_IDS: readonly unknown[] = [
  "",
  "with space",
  "ü",
  "a\u0000",
  ".",
  "..",
  "x".repeat(201),
  7,
  null,
  {},
];
const BAD_TTLS: readonly unknown[] = [1.5, Number.NaN, Number.POSITIVE_INFINITY, "500", null];

const BAD_CAMPAIGNS: readonly (readonly [field: string, change: Fields])[] = [
  ...BAD_IDS.map((id) => ["groupId", { groupId: id }] as const),
  ...BAD_IDS.map((id) => ["nodeId", { nodeId: id }] as const),
  ...BAD_IDS.map((id) => ["instanceId", { instanceId: id }] as const),
  ...BAD_TTLS.map((ttlMs) => ["ttlMs", { ttlMs }] as const),
  ["priority", { priority: 1.5 }],
  ["priority", { priority: "1" }],
  ["priority", { priority: 1_000_001 }],
  ["metadata", { metadata: "text" }],
  ["metadata", { metadata: [] }],
  ["metadata", { metadata: null }],
  ["metadata", { metadata: { text: "x".repeat(4096) } }],
  ["waitMs", { waitMs: -1 }],
  ["waitMs", { waitMs: 60_001 }],
  ["waitMs", { waitMs: 0.5 }],
  ["surprise", { surprise: 1 }],
];

const BAD_CLAIMS: readonly (readonly [field: string, change: Fields])[] = [
  ["groupId", { groupId: "with space" }],
  ["nodeId", { nodeId: undefined }],
  ["instanceId", { instanceId: "" }],
  ["term", { term: 0 }],
  ["term", { term: 1.5 }],
  ["term", { term: "1" }],
  ["term", { term: undefined }],
  ["surprise", { surprise: 1 }],
];

export function requestLaws(law: ElectorLaw): void {
  law("a malformed campaign is refused, and the error names the field", async ({ elector, groupId }) => {
    const good = candidate(groupId, "a");
    for (const [field, change] of BAD_CAMPAIGNS) {
      await refuses(field, change, () => elector.campaign({ ...good, ...change }));
    }
    await refuses("request", {}, () => elector.campaign(null as unknown as CampaignRequest));
    assert.equal(await mark(elector, groupId), "null leads term 0 after 0 events");
  });

  law(
    "a malformed renewal or resign is refused, and the error names the field",
    async ({ elector, groupId }) => {
      const request = candidate(groupId, "a");
      await win(elector, request);
      const claim = claimOf(request, 1);
      for (const [field, change] of BAD_CLAIMS) {
        await refuses(field, change, () => elector.resign({ ...claim, ...change }));
        const renewal = { ...claim, ttlMs: LONG_MS, ...change } as RenewRequest;
        await refuses(field, change, () => elector.renew(renewal));
        await refuses(`renewals[0].${field}`, change, () => elector.renewMany([renewal]));
      }
      for (const ttlMs of BAD_TTLS) {
        await refuses("ttlMs", { ttlMs }, () => elector.renew({ ...claim, ttlMs: ttlMs as number }));
      }
      assert.equal(await mark(elector, groupId), "a leads term 1 after 1 events");
    },
  );

  law("a list of renewals that names a group twice, or is too long, is refused", async (bench) => {
    const { elector, groupId } = bench;
    const renewal = { groupId, nodeId: "a", term: 1, ttlMs: LONG_MS };
    const elsewhere = { ...renewal, groupId: newGroupId() };
    await refuses("renewals[2].groupId", {}, () => elector.renewMany([renewal, elsewhere, renewal]));
    const many = Array.from({ length: 1001 }, (_, i) => ({ ...renewal, groupId: `g-${i}` }));
    await refuses("renewals", {}, () => elector.renewMany(many));
    await refuses("renewals", {}, () => elector.renewMany({} as unknown as RenewRequest[]));
  });

  law("a malformed group id is refused by reads and watches", async ({ elector }) => {
    for (const id of BAD_IDS) {
      const groupId = id as string;
      await refuses("groupId", { groupId }, () => elector.leader(groupId));
      await refuses("groupId", { groupId }, async () => watching(elector, groupId).next());
    }
  });

  law("every group id and node id that the contract allows is accepted", async ({ elector }) => {
    for (const id of ["A", "z.9_8:7/6-5", "...", "a/../b", "x".repeat(200)]) {
      const groupId = `${newGroupId()}/${id}`.slice(0, 200);
      const request = { groupId, nodeId: id, instanceId: id, ttlMs: LONG_MS };
      assert.equal((await win(elector, request)).nodeId, id);
      assert.equal((await elector.leader(groupId)).leader?.nodeId, id);
      assert.deepEqual(await elector.resign(claimOf(request, 1)), { kind: "resigned" });
    }
  });

  law("a ttl outside the policy is refused with the bounds, and nothing is written", async (bench) => {
    const { elector, groupId } = bench;
    const refusal = (error: unknown) => {
      assert(error instanceof InvalidTtlError, String(error));
      assert.deepEqual([error.field, error.minTtlMs, error.maxTtlMs], ["ttlMs", 500, 60_000]);
      return true;
    };
    for (const ttlMs of [-1, 0, 1, 499, 60_001, 86_400_001, 1e300]) {
      await assert.rejects(elector.campaign(candidate(groupId, "a", { ttlMs })), refusal);
      await assert.rejects(elector.campaign(candidate(groupId, "a", { ttlMs, waitMs: 1000 })), refusal);
    }
    assert.equal(await mark(elector, groupId), "null leads term 0 after 0 events");
    const request = candidate(groupId, "a");
    await win(elector, request);
    for (const ttlMs of [0, 499, 60_001, 1e300]) {
      const renewal = { ...claimOf(request, 1), ttlMs };
      await assert.rejects(elector.renew(renewal), refusal);
      const [listed] = await elector.renewMany([renewal]);
      assert(listed?.kind === "failed" && refusal(listed.error), listed?.kind);
    }
    for (const ttlMs of [500, 60_000]) {
      assert.equal((await elector.renew({ ...claimOf(request, 1), ttlMs })).kind, "renewed");
    }
  });
}

export function adminRequestLaws(law: ElectorLaw<AdminBench>): void {
  law("a malformed operator request is refused, and the error names the field", async (bench) => {
    const { elector, groupId } = bench;
    await win(elector, candidate(groupId, "a"));
    for (const [field, call] of badActs(elector, groupId)) await refuses(field, {}, call);
    assert.equal(await mark(elector, groupId), "a leads term 1 after 1 events");
    const group = await elector.group(groupId);
    assert.deepEqual([group.explicit, group.pausedForMs], [false, null]);
  });
}

function badActs(
  elector: ElectorAdmin,
  groupId: string,
): readonly (readonly [field: string, call: () => Promise<unknown>])[] {
  const by = "operator";
  const badly = (change: Fields) => ({ groupId, by, ...change }) as never;
  const group = (change: Fields) => ({ groupId, ...change }) as never;
  return [
    ["by", () => elector.stepDown(badly({ by: "not an id" }))],
    ["banMs", () => elector.stepDown(badly({ banMs: -1 }))],
    ["banMs", () => elector.stepDown(badly({ banMs: 86_400_001 }))],
    ["force", () => elector.stepDown(badly({ force: 1 }))],
    ["surprise", () => elector.stepDown(badly({ surprise: 1 }))],
    ["toNodeId", () => elector.transfer(badly({ toNodeId: "not an id" }))],
    ["allowCold", () => elector.transfer(badly({ toNodeId: "b", allowCold: 1 }))],
    ["timeoutMs", () => elector.transfer(badly({ toNodeId: "b", timeoutMs: 0 }))],
    ["timeoutMs", () => elector.transfer(badly({ toNodeId: "b", timeoutMs: 60_001 }))],
    ["forMs", () => elector.pause(group({ forMs: 0 }))],
    ["surprise", () => elector.pause(group({ surprise: 1 }))],
    ["groupId", () => elector.resume({ groupId: "" })],
    ["force", () => elector.deleteGroup(badly({ force: "yes" }))],
    ["by", () => elector.deleteGroup(group({}))],
    ["groupId", () => elector.group("not an id")],
    ["groupId", () => elector.history("not an id")],
    ["limit", () => elector.groups({ limit: 0 })],
    ["limit", () => elector.groups({ limit: 1001 })],
    ["prefix", () => elector.groups({ prefix: "not an id" })],
    ["cursor", () => elector.groups({ cursor: "" })],
    ["policy", () => elector.createGroup(group({ policy: 1 }))],
    ["policy.minTtlMs", () => elector.createGroup(group({ policy: { minTtlMs: 99 } }))],
    ["policy.minTtlMs", () => elector.createGroup(group({ policy: { minTtlMs: 2000, maxTtlMs: 1000 } }))],
    ["policy.minTtlMs", () => elector.updateGroup(group({ policy: { minTtlMs: 60_001 } }))],
    ["policy.maxTtlMs", () => elector.updateGroup(group({ policy: { maxTtlMs: 86_400_001 } }))],
    ["policy.takeoverDelayMs", () => elector.updateGroup(group({ policy: { takeoverDelayMs: -1 } }))],
    ["policy.strategy", () => elector.createGroup(group({ policy: { strategy: "random" } }))],
    ["policy.preempt", () => elector.createGroup(group({ policy: { preempt: true } }))],
    ["policy.retry.jitter", () => elector.createGroup(group({ policy: { retry: { jitter: 2 } } }))],
    ["policy.surprise", () => elector.createGroup(group({ policy: { surprise: 1 } }))],
    ["allowedNodes", () => elector.createGroup(group({ allowedNodes: "a" }))],
    ["allowedNodes[1]", () => elector.createGroup(group({ allowedNodes: ["a", ""] }))],
  ];
}

async function refuses(field: string, change: Fields, call: () => Promise<unknown>): Promise<void> {
  await assert.rejects(
    // A synchronous throw is as good as a rejection here.
    async () => call(),
    (error) => error instanceof InvalidRequestError && error.field === field,
    `${field} was not refused: ${JSON.stringify(change)}`,
  );
}
