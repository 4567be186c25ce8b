/**
 * Leader election over any `Store`. Open one with `StoreElector.open({ store })`; several may share a store, as several
 * servers share one etcd. Programs use it directly or through the service, which is this class behind HTTP.
 *
 * What it promises:
 * - A term of a group is granted to at most one holder, and the terms of a group only rise, across restarts and deletion.
 * - Elected and renewed are answered only after a durable write for this very request. A refusal is answered only from a
 *   record that was read after the request arrived.
 * - No grant overlaps an earlier lease, as long as every clock keeps its rate within `driftRatio`, unless an operator
 *   forces it (`force` of `stepDown` and `deleteGroup`).
 * What it does not promise: that a paused leader stops acting (send the term along, so that resources can refuse an old
 * one); an order among candidates that wait at different servers; an answer while the store is unavailable. A request that
 * gets `BackendUnavailableError` may or may not have been carried out.
 *
 * Time. A record holds durations, never dates ("this lease lasts for another 5,050 ms as of this write"). Each elector
 * counts them on its own monotonic clock from its first sight of that revision, and its own writes from the reading at
 * which they were decided. So clocks need not agree, only run at nearly the same rate: `driftRatio` bounds the error
 * (`lease-time.ts`). The wall clock appears in answers and events for people and decides nothing.
 *
 * The life of a request:
 * 1. `requests.ts` checks it and refuses unknown keys.
 * 2. `Engine.transact` (`engine.ts`) takes the group's turn, since a group has one write in flight at a time. It reads the
 *    clock once and passes the record as seen to a pure rule (`rules/`), which returns the next record or a refusal.
 * 3. A change is sent as a compare-and-set, together with those of other groups (`batcher.ts`). A conflict brings the newer
 *    record and the rule decides again. After a lost answer the engine reads first, because the write may have been made.
 * 4. A refusal waits for a fresh read (`read-barrier.ts`) unless the record is known to be new enough.
 * 5. A campaign with `waitMs` that does not win waits in `campaign-queue.ts`; `campaigns.ts` grants it later.
 * Without a request, `feed-follower.ts` keeps the groups (`group-state.ts`) up to date with what other electors write, and
 * `housekeeper.ts` acts at the end of a lease, a pause, a ban or a wait. Watches (`group-watch.ts`, `many-watch.ts`,
 * `watch-all.ts`) read events from the record and from the longer history that `history-keeper.ts` writes beside it.
 *
 * Limits. A request gives up after 3 s in all (`engine.ts`), and one call to the store after a quarter of the ttl, at most
 * 1 s (`call-limit.ts`); so a store that needs longer than that for a write cannot keep leases of that ttl. A group keeps
 * its last 64 events. Options: `store-elector-options.ts`.
 *
 * Read next: `store/store.ts` (what the store must do), `record.ts` (what is stored), `rules/campaign.ts` and
 * `rules/upkeep.ts` (who may win), `elector.ts` (the interface and its requests).
 */
import { checkId, checkInteger } from "../check.js";
import type { Reading } from "../clock.js";
import type {
  CampaignRequest,
  CampaignResult,
  Leader,
  LeaderOptions,
  Leadership,
  RenewManyResult,
  RenewRequest,
  RenewResult,
  ResignRequest,
  ResignResult,
  WatchAllOptions,
  WatchEvent,
  WatchOptions,
} from "../elector.js";
import type {
  GroupWatch,
  ServiceElector,
  Group,
  GroupInput,
  GroupsOptions,
  AuditQuery,
  DeleteRequest,
  HeartbeatRequest,
  Member,
  MemberHealth,
  PauseRequest,
  ResumeRequest,
  StepDownRequest,
  TransferRequest,
  WatchManyItem,
} from "../elector-admin.js";
import { TenureError } from "../errors.js";
import type { GroupHistory } from "../history.js";
import type { GroupAct } from "../operator-act.js";
import { DEFAULT_DRIFT_RATIO } from "../lease-time.js";
import { type ElectionRecord, groupExists, policyOf } from "../record.js";
import { unlessAborted } from "../async/on-abort.js";
import { decideRenew } from "../rules/renew.js";
import { decideResign } from "../rules/resign.js";
import { stampOf } from "../rules/terms.js";
import type { CallOptions } from "../store/store.js";
import { systemClock } from "../system-clock.js";
import { Housekeeper } from "./housekeeper.js";
import { listedLimitMs } from "./call-limit.js";
import { Campaigns, refuseTtl } from "./campaigns.js";
import { closedError, Engine, refuseUnknown } from "./engine.js";
import { GroupReader } from "./group-reader.js";
import { Inspector } from "./inspector.js";
import { Operator } from "./operator.js";
import * as requests from "./requests.js";
import { contactListener } from "./store-contact.js";
import type { StoreElectorOptions } from "./store-elector-options.js";
import { leaderOf, leadershipView, notLeader } from "./views.js";
import { Waiter } from "./waiter.js";
import { watchGroup } from "./group-watch.js";
import { watchMany } from "./many-watch.js";
import { watchAll } from "./watch-all.js";

export type { StoreElectorOptions } from "./store-elector-options.js";

export class StoreElector implements ServiceElector {
  /** @internal */
  readonly inspector: Inspector;
  readonly #engine: Engine;
  readonly #campaigns: Campaigns;
  readonly #housekeeper: Housekeeper;
  readonly #operator: Operator;
  readonly #reader: GroupReader;
  readonly #driftRatio: number;
  readonly #closing = new AbortController();
  #closed: Promise<void> | null = null;

  /** Begins to follow the store at once; a store that cannot be reached yet is tried until it can. */
  static open(options: StoreElectorOptions): StoreElector {
    const elector = new StoreElector(options);
    elector.#engine.follower.start();
    return elector;
  }

  private constructor(options: StoreElectorOptions) {
    const { store, clock, random, driftRatio, explicitGroups = false, keepMembers = false } = options;
    const limits = {
      maxGroups: checkLimit(options.maxGroups, "maxGroups"),
      maxGroupsPerNode: checkLimit(options.maxGroupsPerNode, "maxGroupsPerNode"),
    };
    const chance = random ?? Math.random;
    this.#driftRatio = driftRatio ?? DEFAULT_DRIFT_RATIO;
    this.#engine = new Engine(
      store,
      clock ?? systemClock,
      { explicitGroups, keepMembers, ...limits },
      (group) => this.#housekeeper.look(group),
    );
    this.inspector = new Inspector(this.#engine);
    this.#campaigns = new Campaigns(this.#engine, this.#driftRatio, chance);
    this.#housekeeper = new Housekeeper(this.#engine, this.#campaigns, chance);
    this.#operator = new Operator(this.#engine, this.#campaigns);
    this.#reader = new GroupReader(this.#engine);
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return this.#run(options, () => this.#campaign(request, options?.signal));
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    return this.#run(options, () => this.#renew(requests.parseRenew(request)));
  }

  renewMany(all: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#run(options, () =>
      Promise.all(requests.parseRenewMany(all).map((each) => this.#renew(each, true).catch(failed))),
    );
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.#run(options, () => this.#resign(requests.parseResign(request)));
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#run(options, () =>
      this.#engine.track(this.#leader(checkId(groupId, "groupId"), options?.consistency)),
    );
  }

  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent> {
    checkId(groupId, "groupId");
    const cursor = requests.checkCursor(options?.cursor);
    const signals = [options?.signal, this.#closing.signal];
    return watchGroup(this.#engine, groupId, cursor, signals, contactListener(options));
  }

  watchMany(watches: readonly GroupWatch[], options?: CallOptions): AsyncIterable<readonly WatchManyItem[]> {
    return watchMany(this.#engine, watches, [options?.signal, this.#closing.signal]);
  }

  watchAll(options?: WatchAllOptions): AsyncIterable<WatchEvent> {
    const checked = { ...options, cursor: requests.checkCursor(options?.cursor) };
    return watchAll(this.#engine, checked, [options?.signal, this.#closing.signal]);
  }

  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<void> {
    return this.#run(options, async () => {
      const { groupId, nodeId, metadata, ready } = requests.parseHeartbeat(request);
      const group = this.#engine.obtain(groupId);
      await this.#engine.transact(
        group,
        this.#engine.existing(group, ({ record }) =>
          // A heartbeat must not bring a group into existence.
          groupExists(record)
            ? { kind: "stay", value: null }
            : { kind: "answer", give: () => refuseUnknown(groupId) },
        ),
      );
      this.#engine.members?.sign(groupId, { nodeId, isCandidate: false, metadata, ready });
    });
  }

  health(groupId: string, options?: CallOptions): Promise<readonly MemberHealth[]> {
    return this.#run(options, () => this.#reader.health(checkId(groupId, "groupId")));
  }

  members(groupId: string, options?: CallOptions): Promise<readonly Member[]> {
    return this.#run(options, () => this.#reader.members(checkId(groupId, "groupId")));
  }

  ping(options?: CallOptions): Promise<void> {
    return this.#run(options, () => this.#engine.track(this.#engine.readBarrier.wait()));
  }

  createGroup(input: GroupInput, options?: CallOptions): Promise<Group> {
    return this.#run(options, () => this.#operator.create(requests.parseGroup(input)));
  }

  updateGroup(input: GroupInput, options?: CallOptions): Promise<Group> {
    return this.#run(options, () => this.#operator.update(requests.parseGroup(input)));
  }

  deleteGroup(request: DeleteRequest, options?: CallOptions): Promise<void> {
    return this.#run(options, () => this.#operator.remove(requests.parseDelete(request)));
  }

  group(groupId: string, options?: CallOptions): Promise<Group> {
    return this.#run(options, () => this.#reader.group(checkId(groupId, "groupId")));
  }

  groups(
    query?: { prefix?: string | undefined; limit?: number | undefined; cursor?: string | undefined },
    options?: GroupsOptions,
  ): Promise<{ readonly groups: readonly Group[]; readonly cursor: string | null }> {
    return this.#run(options, () =>
      this.#engine.track(this.#reader.groups(requests.parseGroupsQuery(query), options)),
    );
  }

  stepDown(request: StepDownRequest, options?: CallOptions): Promise<void> {
    return this.#run(options, () => this.#operator.stepDown(requests.parseStepDown(request)));
  }

  transfer(request: TransferRequest, options?: CallOptions): Promise<Leader> {
    return this.#run(options, () =>
      this.#operator.transfer(requests.parseTransfer(request), [options?.signal, this.#closing.signal]),
    );
  }

  pause(request: PauseRequest, options?: CallOptions): Promise<void> {
    return this.#run(options, () => this.#operator.pause(requests.parsePause(request)));
  }

  resume(request: ResumeRequest, options?: CallOptions): Promise<void> {
    return this.#run(options, () => this.#operator.resume(requests.parseResume(request)));
  }

  history(groupId: string, options?: CallOptions): Promise<GroupHistory> {
    return this.#run(options, () => this.#reader.history(checkId(groupId, "groupId")));
  }

  audit(
    query?: AuditQuery,
    options?: GroupsOptions,
  ): Promise<{ readonly acts: readonly GroupAct[]; readonly cursor: string | null }> {
    return this.#run(options, () =>
      this.#engine.track(this.#reader.audit(requests.parseAuditQuery(query), options)),
    );
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#closing.abort(closedError());
    await this.#housekeeper.close();
    await this.#engine.settled();
    await this.#engine.close();
  }

  /** A malformed request rejects. Not async, which would cost each renewal another promise. */
  #run<T>(options: CallOptions | undefined, work: () => Promise<T>): Promise<T> {
    try {
      options?.signal?.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      return unlessAborted(options?.signal, work());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #campaign(request: CampaignRequest, signal: AbortSignal | undefined): Promise<CampaignResult> {
    const parsed = requests.parseCampaign(request);
    const { groupId, waitMs } = parsed;
    const contender = new Waiter(parsed, this.#engine.now().monotonicMs, signal);
    return this.#engine.with(groupId, async (group) => {
      if (contender.waits) group.queue?.restorePlace(contender, contender.arrivedAtMs);
      const result = await (waitMs === 0
        ? this.#campaigns.attempt(group, contender)
        : this.#campaigns.attemptOrWait(group, contender));
      if (result === "wait") return this.#housekeeper.enqueue(group, contender);
      // Only a campaign that the group admitted makes a member; one that was refused has thrown.
      this.#engine.members?.sign(groupId, contender.sign);
      return result;
    });
  }

  #renew({ groupId, claim, ttlMs }: requests.ParsedRenew, isListed = false): Promise<RenewResult> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact<RenewResult>(
      group,
      this.#engine.existing(group, (seen, now) => {
        const decision = decideRenew(seen, claim, ttlMs, this.#driftRatio);
        switch (decision.kind) {
          case "renew":
            return {
              kind: "write",
              change: decision,
              written: (record) => this.#renewed(groupId, now, record),
            };
          case "not-leader":
            return { kind: "answer", give: () => notLeader(decision.holder, seen.record.term) };
          case "invalid-ttl":
            return { kind: "answer", give: () => refuseTtl("ttlMs", ttlMs, decision) };
        }
      }),
      isListed ? listedLimitMs(ttlMs, policyOf(group.record)) : undefined,
    );
  }

  #renewed(groupId: string, now: Reading, record: ElectionRecord): RenewResult {
    const leader = leaderOf(record, now.wallMs);
    this.#engine.members?.sign(groupId, {
      nodeId: leader.nodeId,
      isCandidate: true,
      metadata: null,
      ready: null,
    });
    return record.transfer?.ready === true
      ? { kind: "renewed", leader, transferTo: record.transfer.toNodeId }
      : { kind: "renewed", leader };
  }

  #resign({ groupId, claim }: requests.ParsedResign): Promise<ResignResult> {
    const group = this.#engine.obtain(groupId);
    return this.#engine.transact<ResignResult>(
      group,
      this.#engine.existing(group, (seen, now) => {
        const decision = decideResign(seen, claim, stampOf(now));
        switch (decision.kind) {
          case "resign":
            return this.#campaigns.fill(group, now, decision, () => RESIGNED);
          case "already-resigned":
            return { kind: "answer", give: () => RESIGNED };
          case "not-leader":
            return { kind: "answer", give: () => notLeader(decision.holder, seen.record.term) };
        }
      }),
    );
  }

  async #leader(
    groupId: string,
    consistency: LeaderOptions["consistency"] = "linearizable",
  ): Promise<Leadership> {
    if (consistency === "linearizable" || !this.#engine.readBarrier.wasPassed)
      await this.#engine.readBarrier.wait();
    const now = this.#engine.now();
    const seen = this.#engine.see(groupId, now);
    if (!this.#engine.exists(seen.record)) refuseUnknown(groupId);
    const { term } = seen.record;
    const ageMs = consistency === "linearizable" ? 0 : this.#engine.readBarrier.ageMs();
    const view = leadershipView(seen, now.wallMs);
    // A copy of the view would cost as much as the rest of a read; only a group without a leader may be held back.
    return view.leader === null ? { ...view, term, ageMs } : { leader: view.leader, term, ageMs };
  }
}

function checkLimit(limit: number | undefined, name: string): number {
  if (limit === undefined) return Number.POSITIVE_INFINITY;
  return checkInteger(limit, name, 1, Number.MAX_SAFE_INTEGER);
}

const RESIGNED: ResignResult = Object.freeze({ kind: "resigned" });

/** One group's failure is its own; a fault of this program is not. */
function failed(error: unknown): RenewManyResult {
  if (error instanceof TenureError) return { kind: "failed", error };
  throw error;
}
