/**
 * The verbs of the service, independent of the transport. Each method takes one parsed request (`Asked`), checks that the caller is
 * allowed to send it, charges its cost, calls the elector, writes the audit log and returns the reply in the shape of the wire.
 * Errors of the elector become `ServiceError`. HTTP (`http/verb-routes.ts`) and gRPC (`grpc/unary-methods.ts`) both call these
 * methods, so their answers cannot differ.
 */
import * as api from "@tenure/api";
import { type shapes, type UnaryVerb, VERBS, type WatchManyBody } from "@tenure/api";
import type { ReplyOf } from "@tenure/api/schemas";
import {
  type Clock,
  type GroupWatch,
  type Leader,
  type RenewManyResult,
  type RenewResult,
  type ResignResult,
  systemClock,
} from "@tenure/core";
import type { ServiceElector } from "@tenure/core/internal";
import type { Asked, AskedFor, VerbService } from "./asked.js";
import type { AuditLog } from "./audit/audit-log.js";
import { Permissions } from "./audit/permissions.js";
import { byOf, type Caller, maySee } from "./auth/caller.js";
import { campaignMany } from "./campaign-many.js";
import { checkNamedOnce, batchResults } from "./batch-results.js";
import { batchCost, pageCost } from "./limits/admission.js";
import type { WaitingRoom } from "./limits/waiting-room.js";
import type { MandateSigner } from "./mandates/mandate-signer.js";
import type { ServiceMetrics } from "./metrics/service-metrics.js";
import { tracedElector } from "./metrics/tracing.js";
import { type OperationsDeps, OperationsService } from "./operations-service.js";
import type { Activity } from "./samples/activity.js";
import { asServiceError, notLeader, refusalOf, ServiceError, mapErrors } from "./service-error.js";
import { Watch } from "./watch.js";
import { WatchMany } from "./watch-many.js";
import type { WatchFrom } from "./wire/watch-cursor.js";

export interface ElectionServiceDeps extends OperationsDeps {
  readonly elector: ServiceElector;
  readonly metrics: ServiceMetrics;
  readonly activity: Activity;
  readonly audit: AuditLog;
  readonly waiting: WaitingRoom;
  readonly clock?: Clock;
}

export class ElectionService extends OperationsService implements VerbService {
  readonly #elector: ServiceElector;
  readonly #signer: MandateSigner | null;
  readonly #metrics: ServiceMetrics;
  readonly #activity: Activity;
  readonly #audit: AuditLog;
  readonly #permissions: Permissions;
  readonly #waiting: WaitingRoom;
  readonly #clock: Clock;

  constructor(deps: ElectionServiceDeps) {
    super(deps);
    const { elector, signer, metrics, activity, audit, waiting, clock = systemClock } = deps;
    this.#elector = tracedElector(elector);
    this.#signer = signer;
    this.#metrics = metrics;
    this.#activity = activity;
    this.#audit = audit;
    this.#permissions = new Permissions(audit);
    this.#waiting = waiting;
    this.#clock = clock;
  }

  async campaign(asked: AskedFor<"campaign">): Promise<shapes.CampaignReply> {
    const { caller, groupId, input, signal, response } = asked;
    this.#check("campaign", asked, input.node_id);
    const leave = (input.wait_ms ?? 0) > 0 ? this.#waiting.enter("waiting campaigns", caller) : null;
    try {
      const startedAtMs = this.#clock.monotonicMs();
      const request = api.campaignRequest(groupId, input);
      const result = await mapErrors(this.#elector.campaign(request, withSignal(signal)));
      const outcome = result.kind === "lost" ? "lost" : "won";
      this.#actedAs(caller, "campaign", groupId, input.node_id, result.leader?.term, outcome);
      if (result.kind === "lost") return api.lostShape(result, response);
      const { leader, waitedMs = 0 } = result;
      const token = await this.#token(groupId, leader, input.lease_ttl_ms, startedAtMs + waitedMs);
      return { ...api.electedShape(result), ...token };
    } finally {
      leave?.();
    }
  }

  /** Campaigns for several groups that do not wait. Each has its own result, whatever happens to the others. */
  campaignMany(asked: AskedFor<"campaignMany">): Promise<shapes.CampaignManyReply> {
    const { input, signal: callerGone } = asked;
    asked.charge(batchCost(input.campaigns.length));
    return campaignMany(input, {
      clock: this.#clock,
      campaign: ({ group_id: groupId, ...each }, signal) =>
        this.campaign({ ...asked, groupId, input: each, signal }),
      callerGone,
    });
  }

  async renew(asked: AskedFor<"renew">): Promise<shapes.RenewReply> {
    const { caller, groupId, input, response } = asked;
    try {
      this.#check("renew", asked, input.node_id);
      const startedAtMs = this.#clock.monotonicMs();
      const result = await this.#elector.renew(api.renewRequest(groupId, input));
      return await this.#renewed(caller, groupId, input, result, { startedAtMs, response });
    } catch (error) {
      throw this.#renewFailed(error);
    }
  }

  /** Renewals of several groups. Each has its own result; a refused one has its error in its place. */
  async renewMany(asked: AskedFor<"renewMany">): Promise<shapes.RenewManyReply> {
    const { caller, input, response, charge } = asked;
    const { renewals } = input;
    charge(batchCost(renewals.length));
    const refusals = renewals.map((each) =>
      refusalOf(() => this.#permissions.checkMayActAs(caller, "renew", each.group_id, each.node_id)),
    );
    const startedAtMs = this.#clock.monotonicMs();
    const admitted = renewals.filter((_, index) => refusals[index] === null);
    const requests = admitted.map((each) => api.renewRequest(each.group_id, each));
    const renewed = (await mapErrors(this.#elector.renewMany(requests), "renew")).values();
    return batchResults(renewals, (each, index) => {
      try {
        const refusal = refusals[index] ?? null;
        if (refusal !== null) throw refusal;
        const result = renewed.next().value as RenewManyResult;
        return this.#renewed(caller, each.group_id, each, result, { startedAtMs, response });
      } catch (error) {
        throw this.#renewFailed(error);
      }
    });
  }

  async resign(asked: AskedFor<"resign">): Promise<Ok> {
    const { caller, groupId, input } = asked;
    this.#check("resign", asked, input.node_id);
    const request = api.resignRequest(groupId, input);
    const result = await mapErrors(this.#elector.resign(request));
    this.#actedAs(caller, "resign", groupId, input.node_id, input.term, outcomeOf(result));
    if (result.kind === "not-leader") throw notLeader(result);
    return OK;
  }

  async leader(asked: AskedFor<"leader">): Promise<shapes.LeaderReply> {
    const { groupId, input } = asked;
    this.#check("leader", asked);
    const { consistency = "linearizable" } = input;
    const leadership = await mapErrors(this.#elector.leader(groupId, { consistency }));
    return api.leaderShape(leadership, consistency === "local");
  }

  /** Watches one group, or all groups that the caller may see. The watch ends by throwing, with `return`, or with the signal. */
  watch(
    caller: Caller,
    groupId: string | null,
    from: WatchFrom | undefined,
    { signal, charge }: { readonly signal?: AbortSignal; readonly charge?: (cost: number) => void } = {},
  ): Watch {
    if (groupId !== null) this.#permissions.checkMaySee(caller, "watch", groupId);
    const leave = this.#waiting.enter("watches", caller);
    try {
      const events =
        groupId === null
          ? this.#elector.watchAll({ ...from, ...withSignal(signal), maySee: (id) => maySee(caller, id) })
          : this.#elector.watch(groupId, { cursor: from?.cursor, ...withSignal(signal) });
      return new Watch({ events, charge, leave });
    } catch (error) {
      leave();
      throw asServiceError(error);
    }
  }

  /** Of several groups in one. Each counts as a watch, and each is refused by itself. */
  watchMany(caller: Caller, { watches }: WatchManyBody): WatchMany {
    checkNamedOnce("watches", watches);
    const admitted: GroupWatch[] = [];
    const refused: { readonly groupId: string; readonly refusal: ServiceError }[] = [];
    for (const { group_id: groupId, cursor } of watches) {
      const refusal = refusalOf(() => this.#permissions.checkMaySee(caller, "watch", groupId));
      if (refusal === null) admitted.push({ groupId, cursor });
      else refused.push({ groupId, refusal });
    }
    const leave = this.#waiting.enter("watches", caller, admitted.length);
    return new WatchMany({ items: this.#elector.watchMany(admitted), refused, leave });
  }

  /** Rejects where the store does not answer. */
  async checkReachable(): Promise<void> {
    await mapErrors(this.#elector.ping());
  }

  async createGroup(asked: AskedFor<"createGroup">): Promise<shapes.GroupShape> {
    const { group_id: groupId, ...rest } = asked.input;
    const { caller } = asked;
    return this.#act("createGroup", { caller, groupId, input: rest }, async () =>
      api.groupShape(await this.#elector.createGroup(api.groupInput(groupId, rest, byOf(caller)))),
    );
  }

  async updateGroup(asked: AskedFor<"updateGroup">): Promise<shapes.GroupShape> {
    const { caller, groupId, input } = asked;
    return this.#act("updateGroup", asked, async () =>
      api.groupShape(await this.#elector.updateGroup(api.groupInput(groupId, input, byOf(caller)))),
    );
  }

  async deleteGroup({ caller, groupId, input }: AskedFor<"deleteGroup">): Promise<Ok> {
    const { force = false, reason } = input;
    return this.#act("deleteGroup", { caller, groupId, input: { ...input, force } }, async () => {
      await this.#elector.deleteGroup({ groupId, by: byOf(caller), force, reason });
      return OK;
    });
  }

  async group(asked: AskedFor<"group">): Promise<shapes.GroupShape> {
    this.#check("group", asked);
    return api.groupShape(await mapErrors(this.#elector.group(asked.groupId)));
  }

  async groups({ caller, input, charge }: AskedFor<"groups">): Promise<ReplyOf<"groups">> {
    // Filtered before the page is made: a cursor is the id of a group, and must be one that the caller may see.
    const page = await mapErrors(
      this.#elector.groups(input, { maySee: (groupId) => maySee(caller, groupId) }),
    );
    charge(pageCost(page.groups.length));
    return { groups: page.groups.map((each) => api.groupShape(each)), cursor: page.cursor };
  }

  async members(asked: AskedFor<"members">): Promise<ReplyOf<"members">> {
    this.#check("members", asked);
    const members = await mapErrors(this.#elector.members(asked.groupId));
    return { members: members.map(api.memberShape) };
  }

  async health(asked: AskedFor<"health">): Promise<ReplyOf<"health">> {
    this.#check("health", asked);
    const members = await mapErrors(this.#elector.health(asked.groupId));
    return { members: members.map(api.memberHealthShape) };
  }

  async heartbeat(asked: AskedFor<"heartbeat">): Promise<Ok> {
    const { caller, groupId, input } = asked;
    const { node_id: nodeId, metadata, ready } = input;
    // An observer may say that it is there; only standing for election is denied to it.
    if (caller.role === "observer" && caller.name === nodeId)
      this.#permissions.checkMaySee(caller, "heartbeat", groupId);
    else this.#check("heartbeat", asked, nodeId);
    await mapErrors(this.#elector.heartbeat({ groupId, nodeId, metadata, ready }));
    this.#actedAs(caller, "heartbeat", groupId, nodeId, undefined, "done");
    return OK;
  }

  async stepDown(asked: AskedFor<"stepDown">): Promise<Ok> {
    const { caller, groupId, input } = asked;
    return this.#act("stepDown", asked, async () => {
      const { reason, ban_ms: banMs, force } = input;
      await this.#elector.stepDown({ groupId, by: byOf(caller), reason, banMs, force });
      return OK;
    });
  }

  async transfer(asked: AskedFor<"transfer">): Promise<ReplyOf<"transfer">> {
    const { caller, groupId, input, signal } = asked;
    return this.#act("transfer", asked, async () => {
      const request = api.transferRequest(groupId, input, byOf(caller));
      return { ok: true, leader: api.leaseShape(await this.#elector.transfer(request, withSignal(signal))) };
    });
  }

  async pause(asked: AskedFor<"pause">): Promise<Ok> {
    const { caller, groupId, input } = asked;
    return this.#act("pause", asked, async () => {
      const { for_ms: forMs, create, reason } = input;
      await this.#elector.pause({ groupId, by: byOf(caller), forMs, create, reason });
      return OK;
    });
  }

  async resume(asked: AskedFor<"resume">): Promise<Ok> {
    const { caller, groupId, input } = asked;
    return this.#act("resume", asked, async () => {
      await this.#elector.resume({ groupId, by: byOf(caller), reason: input.reason });
      return OK;
    });
  }

  async history(asked: AskedFor<"history">): Promise<ReplyOf<"history">> {
    this.#check("history", asked);
    const { events, acts } = await mapErrors(this.#elector.history(asked.groupId));
    return {
      events: events.map((event) => api.historyShape(asked.groupId, event)),
      acts: acts.map(api.actShape),
    };
  }

  async audit({ caller, input, charge }: AskedFor<"audit">): Promise<ReplyOf<"audit">> {
    const { group_id: groupId, ...query } = input;
    const page = await mapErrors(
      this.#elector.audit({ groupId, ...query }, { maySee: (id) => maySee(caller, id) }),
    );
    charge(pageCost(page.acts.length));
    return { acts: page.acts.map(api.groupActShape), cursor: page.cursor };
  }

  /** By the access that the table says. `nodeId`: of the node in whose name the caller acts. */
  #check(verb: UnaryVerb, { caller, groupId }: Pick<Asked, "caller" | "groupId">, nodeId?: string): void {
    if (VERBS[verb].access === "actAs") this.#permissions.checkMayActAs(caller, verb, groupId, nodeId ?? "");
    else this.#permissions.checkMaySee(caller, verb, groupId);
  }

  /** Not async, because only a signature takes time. */
  #renewed(
    caller: Caller,
    groupId: string,
    body: shapes.RenewBody,
    result: RenewManyResult | RenewResult,
    { startedAtMs, response }: { readonly startedAtMs: number; readonly response: api.ResponseOptions },
  ): shapes.RenewReply | Promise<shapes.RenewReply> {
    this.#actedAs(caller, "renew", groupId, body.node_id, body.term, outcomeOf(result));
    if (result.kind === "failed") throw result.error;
    if (result.kind === "not-leader") throw notLeader(result);
    this.#activity.renewed();
    const reply = api.renewedShape(result, response);
    if (this.#signer === null) return reply;
    const signed = this.#token(groupId, result.leader, body.extend_by_ms, startedAtMs);
    return signed.then((token) => ({ ...reply, ...token }));
  }

  #renewFailed(cause: unknown): unknown {
    const error = asServiceError(cause, "renew");
    if (error instanceof ServiceError) this.#metrics.renewFailed(error.code);
    return error;
  }

  /** The lease began no sooner than `sinceMs`: its write was sent after that. */
  async #token(
    groupId: string,
    { nodeId, term }: Leader,
    ttlMs: number,
    sinceMs: number,
  ): Promise<{ token?: string }> {
    if (this.#signer === null) return {};
    const ageMs = Math.max(0, this.#clock.monotonicMs() - sinceMs);
    return { token: await this.#signer.sign({ groupId, nodeId, term, ttlMs, ageMs }) };
  }

  /** An admin is no node: whatever it does as one, it does in another's name. */
  #actedAs(
    caller: Caller,
    act: string,
    groupId: string,
    nodeId: string,
    term: number | undefined,
    outcome: string,
  ): void {
    if (caller.role === "admin") this.#audit.actedAs({ caller, act, groupId, nodeId, term, outcome });
  }

  /** Runs an act of an admin. The audit log gets a line whether the act succeeds or not, and also if a caller that is not an admin tries it. */
  async #act<T>(
    verb: UnaryVerb,
    { caller, groupId, input }: Pick<Asked<object>, "caller" | "groupId" | "input">,
    work: () => Promise<T>,
  ): Promise<T> {
    const act = actOf(verb);
    const details = { ...input };
    this.#permissions.checkIsAdmin(caller, act, groupId, details);
    try {
      const result = await mapErrors(work());
      this.#audit.adminAct({ caller, act, groupId, details, outcome: "done" });
      return result;
    } catch (error) {
      const outcome = error instanceof ServiceError ? error.code : "failed";
      this.#audit.adminAct({ caller, act, groupId, details, outcome });
      throw error;
    }
  }
}

const OK = Object.freeze({ ok: true } as const);
type Ok = typeof OK;

/** The name of a verb in the audit log: `step-down`. */
function actOf(verb: UnaryVerb): string {
  return verb.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const withSignal = (signal: AbortSignal | undefined) => (signal === undefined ? undefined : { signal });

/** The outcome in the audit log. */
function outcomeOf({ kind }: RenewManyResult | ResignResult): string {
  return kind === "not-leader" ? "NOT_LEADER" : kind === "failed" ? "failed" : "done";
}
