/**
 * What an operator asks of the service: the verbs of `ElectorAdmin` that `Elector` does not have. `by` is checked but not
 * sent: the service identifies the caller by the credentials.
 */
import * as api from "@tenure/api";
import type { shapes } from "@tenure/api";
import type { ReplyOf } from "@tenure/api/schemas";
import type {
  AuditQuery,
  CallOptions,
  DeleteRequest,
  Elector,
  ElectorAdmin,
  Group,
  GroupAct,
  GroupHistory,
  GroupInput,
  GroupsOptions,
  HeartbeatRequest,
  Leader,
  Member,
  MemberHealth,
  PauseRequest,
  ResumeRequest,
  StepDownRequest,
  TransferRequest,
} from "@tenure/core";
import {
  checkId,
  parseAuditQuery,
  parseDelete,
  parseGroup,
  parseGroupsQuery,
  parseHeartbeat,
  parsePause,
  parseResume,
  parseStepDown,
  parseTransfer,
} from "@tenure/core/internal";
import type { CallInput, ServiceCalls } from "./service-calls.js";

type GroupsQuery = ReturnType<typeof parseGroupsQuery>;

interface GroupsPage {
  readonly groups: readonly Group[];
  readonly cursor: string | null;
}

export abstract class HttpOperator implements Omit<ElectorAdmin, keyof Elector | "watchAll"> {
  readonly #calls: ServiceCalls;

  protected constructor(calls: ServiceCalls) {
    this.#calls = calls;
  }

  /** Refuses the call if the elector is closed; closing waits for `work`. A malformed request rejects rather than throws. */
  protected abstract run<T>(options: CallOptions | undefined, work: () => Promise<T>): Promise<T>;

  /** For calls that may take long: closing this elector aborts them. */
  protected abstract unlessClosed<T>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;

  createGroup(input: GroupInput, options?: CallOptions): Promise<Group> {
    return this.run(options, () => {
      // A new policy can be checked here completely; a change only by the service, which knows the rest.
      parseGroup(input).change(null);
      const body = () => ({ group_id: input.groupId, ...api.groupPatch(input) });
      return this.#group({ verb: "createGroup", groupId: input.groupId, body }, options);
    });
  }

  updateGroup(input: GroupInput, options?: CallOptions): Promise<Group> {
    return this.run(options, () => {
      parseGroup(input);
      const body = () => api.groupPatch(input);
      return this.#group({ verb: "updateGroup", groupId: input.groupId, body }, options);
    });
  }

  deleteGroup(request: DeleteRequest, options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      const { groupId, force, reason } = parseDelete(request);
      const query = { ...(force ? { force: "true" } : {}), ...because(reason) };
      await this.#calls.ask({ verb: "deleteGroup", groupId, query }, options?.signal);
    });
  }

  group(groupId: string, options?: CallOptions): Promise<Group> {
    return this.run(options, () =>
      this.#group({ verb: "group", groupId: checkId(groupId, "groupId") }, options),
    );
  }

  /**
   * The service returns only groups that the caller may see; `maySee` filters them further here, over as many pages as
   * needed.
   */
  groups(
    query?: { prefix?: string | undefined; limit?: number | undefined; cursor?: string | undefined },
    options: GroupsOptions = {},
  ): Promise<GroupsPage> {
    const { maySee, signal } = options;
    return this.run(options, async () => {
      const parsed = parseGroupsQuery(query);
      if (maySee === undefined) return this.#groups(parsed, signal);
      const seen: Group[] = [];
      let { cursor } = parsed;
      do {
        const page = await this.#groups({ ...parsed, cursor }, signal);
        seen.push(...page.groups.filter(({ groupId }) => maySee(groupId)));
        cursor = page.cursor;
      } while (seen.length <= parsed.limit && cursor !== null);
      const groups = seen.slice(0, parsed.limit);
      return { groups, cursor: seen.length > parsed.limit ? (groups.at(-1)?.groupId ?? null) : null };
    });
  }

  stepDown(request: StepDownRequest, options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      const { groupId, by, reason, stepDown } = parseStepDown(request);
      const { banMs, force } = stepDown;
      const body = () => ({
        reason: reason ?? `asked for by ${by}`,
        ...(banMs === 0 ? {} : { ban_ms: banMs }),
        ...(force ? { force } : {}),
      });
      await this.#calls.ask({ verb: "stepDown", groupId, body }, options?.signal);
    });
  }

  transfer(request: TransferRequest, options?: CallOptions): Promise<Leader> {
    return this.run(options, () => {
      const { groupId, reason, transfer } = parseTransfer(request);
      const { toNodeId, timeoutMs, allowCold } = transfer;
      const body = () => ({
        ...(toNodeId === null ? {} : { to_node_id: toNodeId }),
        timeout_ms: timeoutMs,
        ...(allowCold ? { allow_cold: true } : {}),
        ...because(reason),
      });
      return this.unlessClosed(options?.signal, async (signal) => {
        // The service answers when the transfer is settled.
        const input = { verb: "transfer", groupId, body, waitMs: timeoutMs } as const;
        return api.leaderOf((await this.#calls.ask<ReplyOf<"transfer">>(input, signal)).leader);
      });
    });
  }

  pause(request: PauseRequest, options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      const { groupId, reason, pause } = parsePause(request);
      const { forMs, create } = pause;
      const body = () => ({
        ...(forMs === null ? {} : { for_ms: forMs }),
        ...(create ? { create } : {}),
        ...because(reason),
      });
      await this.#calls.ask({ verb: "pause", groupId, body }, options?.signal);
    });
  }

  resume(request: ResumeRequest, options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      const { groupId, reason } = parseResume(request);
      await this.#calls.ask({ verb: "resume", groupId, body: () => because(reason) }, options?.signal);
    });
  }

  heartbeat(request: HeartbeatRequest, options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      const { groupId, nodeId, metadata, ready } = parseHeartbeat(request);
      const body = () => ({
        node_id: nodeId,
        ...(metadata === null ? {} : { metadata }),
        ...(ready === null ? {} : { ready }),
      });
      await this.#calls.ask({ verb: "heartbeat", groupId, body }, options?.signal);
    });
  }

  members(groupId: string, options?: CallOptions): Promise<readonly Member[]> {
    return this.run(options, async () => {
      const { members } = await this.#read<ReplyOf<"members">>("members", groupId, options);
      return members.map(api.memberOf);
    });
  }

  health(groupId: string, options?: CallOptions): Promise<readonly MemberHealth[]> {
    return this.run(options, async () => {
      const { members } = await this.#read<ReplyOf<"health">>("health", groupId, options);
      return members.map(api.memberHealthOf);
    });
  }

  history(groupId: string, options?: CallOptions): Promise<GroupHistory> {
    return this.run(options, async () => {
      const { events, acts } = await this.#read<ReplyOf<"history">>("history", groupId, options);
      return { events: events.map(api.historyEvent), acts: acts.map(api.actOf) };
    });
  }

  /** The service lists only groups that the caller may see; `maySee` filters the page further here. */
  audit(
    query?: AuditQuery,
    options: GroupsOptions = {},
  ): Promise<{ readonly acts: readonly GroupAct[]; readonly cursor: string | null }> {
    const { maySee = () => true, signal } = options;
    return this.run(options, async () => {
      const { groupId, by, limit, cursor } = parseAuditQuery(query);
      const asked = {
        limit: String(limit),
        ...(groupId === null ? {} : { group_id: groupId }),
        ...(by === null ? {} : { by }),
        ...(cursor === null ? {} : { cursor }),
      };
      const page = await this.#calls.ask<ReplyOf<"audit">>({ verb: "audit", query: asked }, signal);
      const acts = page.acts.map(api.groupActOf).filter((act) => maySee(act.groupId));
      return { acts, cursor: page.cursor };
    });
  }

  ping(options?: CallOptions): Promise<void> {
    return this.run(options, async () => {
      await this.#calls.ask({ verb: "ping" }, options?.signal);
    });
  }

  async #groups(
    { prefix, limit, cursor }: GroupsQuery,
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

  async #group(input: CallInput, options: CallOptions | undefined): Promise<Group> {
    return api.groupOf(await this.#calls.ask<shapes.GroupShape>(input, options?.signal));
  }

  #read<T>(
    verb: "members" | "health" | "history",
    groupId: string,
    options: CallOptions | undefined,
  ): Promise<T> {
    return this.#calls.ask<T>({ verb, groupId: checkId(groupId, "groupId") }, options?.signal);
  }
}

function because(reason: string | null): { reason?: string } {
  return reason === null ? {} : { reason };
}
