/**
 * The verbs of the service, whatever the transport: who may ask, what the elector answers, and how that is told. HTTP and
 * gRPC both speak to this, so they cannot differ.
 */
import {
  type Clock,
  type GroupWatch,
  type Leader,
  type RenewManyResult,
  type RenewResult,
  type ResignResult,
  type ServiceElector,
  systemClock,
} from "@tenure/core";
import type { AuditLog } from "./audit/audit-log.js";
import { Permissions } from "./audit/permissions.js";
import { byOf, type Caller, maySee } from "./auth/caller.js";
import { campaignMany } from "./campaign-many.js";
import { checkNamedOnce, eachAlone } from "./each-alone.js";
import type { WaitingRoom } from "./limits/waiting-room.js";
import type { MandateSigner } from "./mandates/mandate-signer.js";
import type { ServiceMetrics } from "./metrics/service-metrics.js";
import { tracedElector } from "./metrics/tracing.js";
import { asServiceError, notLeader, refusalOf, ServiceError, told } from "./service-error.js";
import { Watch } from "./watch.js";
import { WatchMany } from "./watch-many.js";
import * as codec from "./wire/codec.js";
import type * as shapes from "./wire/shapes.js";
import type { WatchManyBody } from "./wire/watch-shapes.js";
import type { WatchFrom } from "./wire/watch-cursor.js";

export interface ElectionServiceParts {
  readonly elector: ServiceElector;
  readonly signer: MandateSigner | null;
  readonly metrics: ServiceMetrics;
  readonly audit: AuditLog;
  readonly waiting: WaitingRoom;
  readonly clock?: Clock;
}

export class ElectionService {
  readonly #elector: ServiceElector;
  readonly #signer: MandateSigner | null;
  readonly #metrics: ServiceMetrics;
  readonly #audit: AuditLog;
  readonly #permissions: Permissions;
  readonly #waiting: WaitingRoom;
  readonly #clock: Clock;

  constructor({ elector, signer, metrics, audit, waiting, clock = systemClock }: ElectionServiceParts) {
    this.#elector = tracedElector(elector);
    this.#signer = signer;
    this.#metrics = metrics;
    this.#audit = audit;
    this.#permissions = new Permissions(audit);
    this.#waiting = waiting;
    this.#clock = clock;
  }

  async campaign(
    caller: Caller,
    groupId: string,
    body: shapes.CampaignBody,
    signal?: AbortSignal,
    telling: codec.Telling = codec.BRIEF,
  ): Promise<shapes.CampaignReply> {
    this.#permissions.checkMayActAs(caller, "campaign", groupId, body.node_id);
    const leave = (body.wait_ms ?? 0) > 0 ? this.#waiting.enter("waiting campaigns", caller) : null;
    try {
      const startedAtMs = this.#clock.monotonicMs();
      const request = codec.campaignRequest(groupId, body);
      const result = await told(this.#elector.campaign(request, given(signal)), codec.CAMPAIGN_NAMES);
      const outcome = result.kind === "lost" ? "lost" : "won";
      this.#actedAs(caller, "campaign", groupId, body.node_id, result.leader?.term, outcome);
      if (result.kind === "lost") return codec.lostShape(result, telling);
      const { leader, waitedMs = 0 } = result;
      const token = await this.#token(groupId, leader, body.lease_ttl_ms, startedAtMs + waitedMs);
      return { ...codec.electedShape(result), ...token };
    } finally {
      leave?.();
    }
  }

  /** Each stands alone, and none waits. */
  campaignMany(
    caller: Caller,
    body: shapes.CampaignManyBody,
    hangUp?: AbortSignal,
    telling: codec.Telling = codec.BRIEF,
  ): Promise<shapes.CampaignManyReply> {
    return campaignMany(body, {
      clock: this.#clock,
      campaign: ({ group_id, ...each }, signal) => this.campaign(caller, group_id, each, signal, telling),
      hangUp,
    });
  }

  async renew(
    caller: Caller,
    groupId: string,
    body: shapes.RenewBody,
    signal?: AbortSignal,
    telling: codec.Telling = codec.BRIEF,
  ): Promise<shapes.RenewReply> {
    try {
      this.#permissions.checkMayActAs(caller, "renew", groupId, body.node_id);
      const startedAtMs = this.#clock.monotonicMs();
      const request = codec.renewRequest(groupId, body);
      const result = await told(this.#elector.renew(request, given(signal)), codec.RENEW_NAMES);
      this.#actedAs(caller, "renew", groupId, body.node_id, body.term, outcomeOf(result));
      return await this.#renewed(groupId, body, result, startedAtMs, telling);
    } catch (error) {
      throw this.#renewFailed(error);
    }
  }

  /** Each renewal stands alone: one that is refused is told so in its place. */
  async renewMany(
    caller: Caller,
    { renewals }: shapes.RenewManyBody,
    signal?: AbortSignal,
    telling: codec.Telling = codec.BRIEF,
  ): Promise<shapes.RenewManyReply> {
    const refusals = renewals.map((each) =>
      refusalOf(() => this.#permissions.checkMayActAs(caller, "renew", each.group_id, each.node_id)),
    );
    const startedAtMs = this.#clock.monotonicMs();
    const admitted = renewals.filter((_, index) => refusals[index] === null);
    const requests = admitted.map((each) => codec.renewRequest(each.group_id, each));
    const renewed = (
      await told(this.#elector.renewMany(requests, given(signal)), codec.RENEW_NAMES)
    ).values();
    return eachAlone(renewals, async (each, index) => {
      try {
        const refusal = refusals[index] ?? null;
        if (refusal !== null) throw refusal;
        const result = renewed.next().value as RenewManyResult;
        this.#actedAs(caller, "renew", each.group_id, each.node_id, each.term, outcomeOf(result));
        return await this.#renewed(each.group_id, each, result, startedAtMs, telling);
      } catch (error) {
        throw this.#renewFailed(error);
      }
    });
  }

  async resign(
    caller: Caller,
    groupId: string,
    body: shapes.ResignBody,
    signal?: AbortSignal,
  ): Promise<{ ok: true }> {
    this.#permissions.checkMayActAs(caller, "resign", groupId, body.node_id);
    const request = codec.resignRequest(groupId, body);
    const result = await told(this.#elector.resign(request, given(signal)), codec.RENEW_NAMES);
    this.#actedAs(caller, "resign", groupId, body.node_id, body.term, outcomeOf(result));
    if (result.kind === "not-leader") throw notLeader(result);
    return OK;
  }

  async leader(
    caller: Caller,
    groupId: string,
    isLocal: boolean,
    signal?: AbortSignal,
  ): Promise<shapes.LeaderReply> {
    this.#permissions.checkMaySee(caller, "leader", groupId);
    const consistency = isLocal ? "local" : "linearizable";
    const leadership = await told(this.#elector.leader(groupId, { consistency, ...given(signal) }));
    return codec.leaderShape(leadership, isLocal);
  }

  /** Of one group, or of all that the caller may see. Ends by throwing, with `return` or with the signal. */
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
          ? this.#elector.watchAll({ ...from, ...given(signal), maySee: (id) => maySee(caller, id) })
          : this.#elector.watch(groupId, { cursor: from?.cursor, ...given(signal) });
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
    await told(this.#elector.ping());
  }

  async createGroup(caller: Caller, { group_id, ...rest }: shapes.GroupBody): Promise<shapes.GroupShape> {
    return this.#act(caller, "create-group", group_id, { ...rest }, async () =>
      codec.groupShape(await this.#elector.createGroup(codec.groupInput(group_id, rest, byOf(caller)))),
    );
  }

  async updateGroup(caller: Caller, groupId: string, patch: shapes.GroupPatch): Promise<shapes.GroupShape> {
    return this.#act(caller, "update-group", groupId, { ...patch }, async () =>
      codec.groupShape(await this.#elector.updateGroup(codec.groupInput(groupId, patch, byOf(caller)))),
    );
  }

  async deleteGroup(caller: Caller, groupId: string, force: boolean): Promise<{ ok: true }> {
    return this.#act(caller, "delete-group", groupId, { force }, async () => {
      await this.#elector.deleteGroup({ groupId, by: byOf(caller), force });
      return OK;
    });
  }

  async group(caller: Caller, groupId: string): Promise<shapes.GroupShape> {
    this.#permissions.checkMaySee(caller, "group", groupId);
    return codec.groupShape(await told(this.#elector.group(groupId)));
  }

  async groups(
    caller: Caller,
    query: { prefix?: string; limit?: number; cursor?: string },
  ): Promise<shapes.GroupsReply> {
    // Filtered before the page is made: a cursor is the id of a group, and must be one that the caller may see.
    const page = await told(this.#elector.groups(query, { maySee: (groupId) => maySee(caller, groupId) }));
    return { groups: page.groups.map(codec.groupShape), cursor: page.cursor };
  }

  async members(caller: Caller, groupId: string): Promise<shapes.MembersReply> {
    this.#permissions.checkMaySee(caller, "members", groupId);
    return codec.membersShape(await told(this.#elector.members(groupId)));
  }

  async health(caller: Caller, groupId: string): Promise<shapes.MemberHealthReply> {
    this.#permissions.checkMaySee(caller, "health", groupId);
    return codec.healthShape(await told(this.#elector.health(groupId)));
  }

  async heartbeat(caller: Caller, groupId: string, body: shapes.HeartbeatBody): Promise<{ ok: true }> {
    // An observer may say that it is there; only standing for election is denied to it.
    if (caller.role === "observer" && caller.name === body.node_id)
      this.#permissions.checkMaySee(caller, "heartbeat", groupId);
    else this.#permissions.checkMayActAs(caller, "heartbeat", groupId, body.node_id);
    const { node_id: nodeId, metadata, ready } = body;
    await told(this.#elector.heartbeat({ groupId, nodeId, metadata, ready }));
    this.#actedAs(caller, "heartbeat", groupId, body.node_id, undefined, "done");
    return OK;
  }

  async stepDown(caller: Caller, groupId: string, body: shapes.StepDownBody): Promise<{ ok: true }> {
    return this.#act(caller, "step-down", groupId, { ...body }, async () => {
      await this.#elector.stepDown({ groupId, by: byOf(caller), banMs: body.ban_ms, force: body.force });
      return OK;
    });
  }

  async transfer(
    caller: Caller,
    groupId: string,
    body: shapes.TransferBody,
    signal?: AbortSignal,
  ): Promise<shapes.TransferReply> {
    return this.#act(caller, "transfer", groupId, { ...body }, async () => {
      const request = codec.transferRequest(groupId, body, byOf(caller));
      return { ok: true, leader: codec.leaseShape(await this.#elector.transfer(request, given(signal))) };
    });
  }

  async pause(caller: Caller, groupId: string, body: shapes.PauseBody): Promise<{ ok: true }> {
    return this.#act(caller, "pause", groupId, { ...body }, async () => {
      await this.#elector.pause({ groupId, forMs: body.for_ms });
      return OK;
    });
  }

  async resume(caller: Caller, groupId: string, body: shapes.ResumeBody = {}): Promise<{ ok: true }> {
    return this.#act(caller, "resume", groupId, { ...body }, async () => {
      await this.#elector.resume({ groupId });
      return OK;
    });
  }

  async history(caller: Caller, groupId: string): Promise<shapes.HistoryReply> {
    this.#permissions.checkMaySee(caller, "history", groupId);
    const events = await told(this.#elector.history(groupId));
    return {
      events: events.map((event) => ({ ...codec.eventShape(groupId, event), number: event.number })),
    };
  }

  keys(): { keys: unknown[] } {
    return { keys: [...(this.#signer?.keys() ?? [])] };
  }

  async #renewed(
    groupId: string,
    body: shapes.RenewBody,
    result: RenewManyResult | RenewResult,
    startedAtMs: number,
    telling: codec.Telling,
  ): Promise<shapes.RenewReply> {
    if (result.kind === "failed") throw asServiceError(result.error, codec.RENEW_NAMES);
    if (result.kind === "not-leader") throw notLeader(result);
    const token = await this.#token(groupId, result.leader, body.extend_by_ms, startedAtMs);
    return { ...codec.renewedShape(result, telling), ...token };
  }

  #renewFailed(error: unknown): unknown {
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

  /** Every act of an admin leaves a line, whether it succeeded or not, and so does everybody else's attempt at one. */
  async #act<T>(
    caller: Caller,
    act: string,
    groupId: string,
    details: Readonly<Record<string, unknown>>,
    work: () => Promise<T>,
  ): Promise<T> {
    this.#permissions.checkIsAdmin(caller, act, groupId, details);
    try {
      const result = await told(work());
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

function given(signal: AbortSignal | undefined): { signal: AbortSignal } | undefined {
  return signal === undefined ? undefined : { signal };
}

/** As the audit log has it. */
function outcomeOf({ kind }: RenewManyResult | ResignResult): string {
  return kind === "not-leader" ? "NOT_LEADER" : kind === "failed" ? "failed" : "done";
}
