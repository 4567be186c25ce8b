/**
 * What an operator asks of the service. `by` is checked and not sent: who asks is who the credentials name.
 *
 * No act is sent twice where the first may have been carried out. A second createGroup would be a CONFLICT with the first,
 * a second step-down could hit the next leader, a second delete or update what somebody else has made meanwhile, a late
 * pause could undo a resume, and a second transfer finds the first under way. Reads and heartbeats may be sent freely.
 */
import type {
  Group,
  GroupInput,
  GroupsOptions,
  Leader,
  LeadershipEvent,
  Member,
  MemberHealth,
  parseGroupsQuery,
  parseHeartbeat,
  parsePause,
  parseResume,
  parseStepDown,
  parseTransfer,
} from "@tenure/core";
import { groupPath, type ServiceCalls } from "./service-calls.js";
import type { EventReply, GroupReply, HealthReply, LeaseReply, MemberReply } from "./wire.js";
import * as wire from "./wire.js";

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
    const body = () => ({ group_id: input.groupId, ...wire.groupPatch(input) });
    return this.#group({ method: "POST", path: "/v1/groups", body, resend: "unsent" }, input.groupId, signal);
  }

  async update(input: GroupInput, signal?: AbortSignal): Promise<Group> {
    const { groupId } = input;
    const body = () => wire.groupPatch(input);
    return this.#group(
      { method: "PATCH", path: groupPath(groupId), body, resend: "unsent" },
      groupId,
      signal,
    );
  }

  async remove(groupId: string, force: boolean, signal?: AbortSignal): Promise<void> {
    const path = `${groupPath(groupId)}${force ? "?force=true" : ""}`;
    await this.#calls.ask({ method: "DELETE", path, resend: "unsent", asked: { groupId } }, signal);
  }

  async group(groupId: string, signal?: AbortSignal): Promise<Group> {
    return this.#group({ method: "GET", path: groupPath(groupId), resend: "freely" }, groupId, signal);
  }

  /** The service filters by what it lets the caller see; `maySee` narrows that here, over as many pages as it takes. */
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
    const query = new URLSearchParams({ limit: String(limit) });
    if (prefix !== "") query.set("prefix", prefix);
    if (cursor !== null) query.set("cursor", cursor);
    const page = await this.#calls.ask<{ groups: readonly GroupReply[]; cursor: string | null }>(
      { method: "GET", path: `/v1/groups?${query.toString()}`, resend: "freely" },
      signal,
    );
    return { groups: page.groups.map(wire.groupOf), cursor: page.cursor };
  }

  async stepDown(
    { groupId, reason, stepDown }: Parsed<typeof parseStepDown>,
    signal?: AbortSignal,
  ): Promise<void> {
    const { by, banMs, force } = stepDown;
    const body = () => ({
      reason: reason ?? `asked for by ${by}`,
      ...(banMs === 0 ? {} : { ban_ms: banMs }),
      ...(force ? { force } : {}),
    });
    await this.#act(groupId, "step-down", body, signal);
  }

  async transfer(
    { groupId, reason, transfer }: Parsed<typeof parseTransfer>,
    signal?: AbortSignal,
  ): Promise<Leader> {
    const { toNodeId, timeoutMs, allowCold } = transfer;
    const { leader } = await this.#calls.ask<{ leader: LeaseReply }>(
      {
        method: "POST",
        path: groupPath(groupId, "transfer"),
        body: () => ({
          ...(toNodeId === null ? {} : { to_node_id: toNodeId }),
          timeout_ms: timeoutMs,
          ...(allowCold ? { allow_cold: true } : {}),
          ...because(reason),
        }),
        resend: "unsent",
        // It answers when it is settled.
        waitMs: timeoutMs,
        asked: { groupId },
      },
      signal,
    );
    return wire.leaderOf(leader);
  }

  async pause({ groupId, reason, forMs }: Parsed<typeof parsePause>, signal?: AbortSignal): Promise<void> {
    const body = () => ({ ...(forMs === null ? {} : { for_ms: forMs }), ...because(reason) });
    await this.#act(groupId, "pause", body, signal);
  }

  async resume({ groupId, reason }: Parsed<typeof parseResume>, signal?: AbortSignal): Promise<void> {
    await this.#act(groupId, "resume", () => because(reason), signal);
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
    const path = groupPath(groupId, "heartbeat");
    await this.#calls.ask({ method: "POST", path, body, resend: "freely", asked: { groupId } }, signal);
  }

  async members(groupId: string, signal?: AbortSignal): Promise<readonly Member[]> {
    const path = groupPath(groupId, "members");
    const { members } = await this.#calls.ask<{ members: readonly MemberReply[] }>(
      { method: "GET", path, resend: "freely", asked: { groupId } },
      signal,
    );
    return members.map(wire.memberOf);
  }

  async health(groupId: string, signal?: AbortSignal): Promise<readonly MemberHealth[]> {
    const path = groupPath(groupId, "health");
    const { members } = await this.#calls.ask<{ members: readonly HealthReply[] }>(
      { method: "GET", path, resend: "freely", asked: { groupId } },
      signal,
    );
    return members.map((reply) => ({
      ...wire.memberOf(reply),
      state: reply.state,
      reason: reply.reason,
      sinceMs: reply.since_ms,
    }));
  }

  async history(groupId: string, signal?: AbortSignal): Promise<readonly LeadershipEvent[]> {
    const path = groupPath(groupId, "history");
    const { events } = await this.#calls.ask<{ events: readonly EventReply[] }>(
      { method: "GET", path, resend: "freely", asked: { groupId } },
      signal,
    );
    return events.map(wire.historyEvent);
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#calls.ask({ method: "GET", path: "/readyz", resend: "freely" }, signal);
  }

  async #group(
    input: Omit<Parameters<ServiceCalls["ask"]>[0], "asked">,
    groupId: string,
    signal: AbortSignal | undefined,
  ): Promise<Group> {
    return wire.groupOf(await this.#calls.ask<GroupReply>({ ...input, asked: { groupId } }, signal));
  }

  async #act(
    groupId: string,
    verb: string,
    body: () => unknown,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const path = groupPath(groupId, verb);
    await this.#calls.ask({ method: "POST", path, body, resend: "unsent", asked: { groupId } }, signal);
  }
}

function because(reason: string | null): { reason?: string } {
  return reason === null ? {} : { reason };
}
