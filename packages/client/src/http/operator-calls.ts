/**
 * The calls of an operator to the service. `by` is checked but not sent: the service identifies the caller by the
 * credentials.
 */
import * as api from "@tenure/api";
import type { shapes } from "@tenure/api";
import type { ReplyOf } from "@tenure/api/schemas";
import type {
  Group,
  GroupAct,
  GroupHistory,
  GroupInput,
  GroupsOptions,
  Leader,
  Member,
  MemberHealth,
} from "@tenure/core";
import type {
  parseAuditQuery,
  parseDelete,
  parseGroupsQuery,
  parseHeartbeat,
  parsePause,
  parseResume,
  parseStepDown,
  parseTransfer,
} from "@tenure/core/internal";
import type { CallInput, ServiceCalls } from "./service-calls.js";

interface GroupsPage {
  readonly groups: readonly Group[];
  readonly cursor: string | null;
}

type Parsed<F extends (given: unknown) => unknown> = ReturnType<F>;

export class OperatorCalls {
  readonly #calls: ServiceCalls;

  constructor(calls: ServiceCalls) {
    this.#calls = calls;
  }

  async create(input: GroupInput, signal?: AbortSignal): Promise<Group> {
    const body = () => ({ group_id: input.groupId, ...api.groupPatch(input) });
    return this.#group({ verb: "createGroup", groupId: input.groupId, body }, signal);
  }

  async update(input: GroupInput, signal?: AbortSignal): Promise<Group> {
    const body = () => api.groupPatch(input);
    return this.#group({ verb: "updateGroup", groupId: input.groupId, body }, signal);
  }

  async remove({ groupId, force, reason }: Parsed<typeof parseDelete>, signal?: AbortSignal): Promise<void> {
    const query = { ...(force ? { force: "true" } : {}), ...because(reason) };
    await this.#calls.ask({ verb: "deleteGroup", groupId, query }, signal);
  }

  async group(groupId: string, signal?: AbortSignal): Promise<Group> {
    return this.#group({ verb: "group", groupId }, signal);
  }

  /**
   * The service returns only groups that the caller may see; `maySee` filters them further here, over as many pages as
   * needed.
   */
  async groups(
    query: Parsed<typeof parseGroupsQuery>,
    { maySee, signal }: GroupsOptions = {},
  ): Promise<GroupsPage> {
    if (maySee === undefined) return this.#groups(query, signal);
    const seen: Group[] = [];
    let { cursor } = query;
    do {
      const page = await this.#groups({ ...query, cursor }, signal);
      seen.push(...page.groups.filter(({ groupId }) => maySee(groupId)));
      cursor = page.cursor;
    } while (seen.length <= query.limit && cursor !== null);
    const groups = seen.slice(0, query.limit);
    return { groups, cursor: seen.length > query.limit ? (groups.at(-1)?.groupId ?? null) : null };
  }

  async #groups(
    { prefix, limit, cursor }: Parsed<typeof parseGroupsQuery>,
    signal: AbortSignal | undefined,
  ): Promise<GroupsPage> {
    const query = {
      limit: String(limit),
      ...(prefix === "" ? {} : { prefix }),
      ...(cursor === null ? {} : { cursor }),
    };
    const page = await this.#calls.ask<ReplyOf<"groups">>({ verb: "groups", query }, signal);
    return { groups: page.groups.map(api.groupOf), cursor: page.cursor };
  }

  async stepDown(
    { groupId, by, reason, stepDown }: Parsed<typeof parseStepDown>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { banMs, force } = stepDown;
    const body = () => ({
      reason: reason ?? `asked for by ${by}`,
      ...(banMs === 0 ? {} : { ban_ms: banMs }),
      ...(force ? { force } : {}),
    });
    await this.#calls.ask({ verb: "stepDown", groupId, body }, signal);
  }

  async transfer(
    { groupId, reason, transfer }: Parsed<typeof parseTransfer>,
    signal?: AbortSignal,
  ): Promise<Leader> {
    const { toNodeId, timeoutMs, allowCold } = transfer;
    const body = () => ({
      ...(toNodeId === null ? {} : { to_node_id: toNodeId }),
      timeout_ms: timeoutMs,
      ...(allowCold ? { allow_cold: true } : {}),
      ...because(reason),
    });
    // The service answers when the transfer is settled.
    const { leader } = await this.#calls.ask<ReplyOf<"transfer">>(
      { verb: "transfer", groupId, body, waitMs: timeoutMs },
      signal,
    );
    return api.leaderOf(leader);
  }

  async pause({ groupId, reason, pause }: Parsed<typeof parsePause>, signal?: AbortSignal): Promise<void> {
    const { forMs, create } = pause;
    const body = () => ({
      ...(forMs === null ? {} : { for_ms: forMs }),
      ...(create ? { create } : {}),
      ...because(reason),
    });
    await this.#calls.ask({ verb: "pause", groupId, body }, signal);
  }

  async resume({ groupId, reason }: Parsed<typeof parseResume>, signal?: AbortSignal): Promise<void> {
    await this.#calls.ask({ verb: "resume", groupId, body: () => because(reason) }, signal);
  }

  async heartbeat(
    { groupId, nodeId, metadata, ready }: Parsed<typeof parseHeartbeat>,
    signal?: AbortSignal,
  ): Promise<void> {
    const body = () => ({
      node_id: nodeId,
      ...(metadata === null ? {} : { metadata }),
      ...(ready === null ? {} : { ready }),
    });
    await this.#calls.ask({ verb: "heartbeat", groupId, body }, signal);
  }

  async members(groupId: string, signal?: AbortSignal): Promise<readonly Member[]> {
    const { members } = await this.#calls.ask<ReplyOf<"members">>({ verb: "members", groupId }, signal);
    return members.map(api.memberOf);
  }

  async health(groupId: string, signal?: AbortSignal): Promise<readonly MemberHealth[]> {
    const { members } = await this.#calls.ask<ReplyOf<"health">>({ verb: "health", groupId }, signal);
    return members.map(api.memberHealthOf);
  }

  async history(groupId: string, signal?: AbortSignal): Promise<GroupHistory> {
    const { events, acts } = await this.#calls.ask<ReplyOf<"history">>({ verb: "history", groupId }, signal);
    return { events: events.map(api.historyEvent), acts: acts.map(api.actOf) };
  }

  /** The service lists only groups that the caller may see; `maySee` filters the page further here. */
  async audit(
    { groupId, by, limit, cursor }: Parsed<typeof parseAuditQuery>,
    { maySee, signal }: GroupsOptions = {},
  ): Promise<{ acts: readonly GroupAct[]; cursor: string | null }> {
    const query = {
      limit: String(limit),
      ...(groupId === null ? {} : { group_id: groupId }),
      ...(by === null ? {} : { by }),
      ...(cursor === null ? {} : { cursor }),
    };
    const page = await this.#calls.ask<ReplyOf<"audit">>({ verb: "audit", query }, signal);
    const acts = page.acts.map(api.groupActOf);
    return {
      acts: maySee === undefined ? acts : acts.filter((act) => maySee(act.groupId)),
      cursor: page.cursor,
    };
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#calls.ask({ verb: "ping" }, signal);
  }

  async #group(input: CallInput, signal: AbortSignal | undefined): Promise<Group> {
    return api.groupOf(await this.#calls.ask<shapes.GroupShape>(input, signal));
  }
}

function because(reason: string | null): { reason?: string } {
  return reason === null ? {} : { reason };
}
