/**
 * The leader's view of all members, from their signs of life: who is healthy, suspect or down, why, and since when. For
 * deciding whom to give work to; never for deciding who leads.
 */
import {
  checkId,
  checkInteger,
  checkKeys,
  type Clock,
  type ElectorAdmin,
  InvalidRequestError,
  type MemberHealth,
  sleep,
} from "@tenure/core";
import type { ChildContext, ChildSpec } from "../supervisor/child.js";
import { functionChild } from "../supervisor/function-child.js";
import { publish } from "../telemetry/telemetry.js";

export interface HealthChange {
  readonly nodeId: string;
  readonly from: MemberHealth["state"] | null;
  /** `null`: forgotten after a long time. */
  readonly to: MemberHealth["state"] | null;
  readonly reason: string;
  /** Wall clock of the server that judged; `null` where it is forgotten. */
  readonly sinceMs: number | null;
}

export interface ClusterHealthOptions {
  readonly elector: Pick<ElectorAdmin, "health">;
  readonly groupId: string;
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly changed?: (change: HealthChange) => void;
  readonly failed?: (error: unknown) => void;
}

const KNOWN: readonly (keyof ClusterHealthOptions)[] = [
  "elector",
  "groupId",
  "intervalMs",
  "clock",
  "changed",
  "failed",
];
const DEFAULT_INTERVAL_MS = 2000;

export class ClusterHealth {
  readonly #options: ClusterHealthOptions;
  readonly #intervalMs: number;
  #members: readonly MemberHealth[] = [];

  constructor(options: ClusterHealthOptions) {
    checkKeys(options, "", KNOWN);
    checkId(options.groupId, "groupId");
    this.#intervalMs = checkInteger(options.intervalMs ?? DEFAULT_INTERVAL_MS, "intervalMs", 100, 3_600_000);
    if (typeof options.elector.health !== "function") {
      throw new InvalidRequestError(
        "elector",
        "keeps no account of members; use a Tenure service or a store",
      );
    }
    this.#options = options;
  }

  /** As of the last look. */
  get members(): readonly MemberHealth[] {
    return this.#members;
  }

  get healthy(): readonly string[] {
    return this.#members.filter(({ state }) => state === "healthy").map(({ nodeId }) => nodeId);
  }

  child(): ChildSpec {
    return functionChild("cluster-health", (context) => this.#run(context));
  }

  async #run({ signal }: ChildContext): Promise<void> {
    const { clock, failed } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        // What was seen last stays until there is something newer.
        if (!signal.aborted) failed?.(error);
      }
      await sleep(clock, this.#intervalMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { elector, groupId } = this.#options;
    const before = new Map(this.#members.map((member) => [member.nodeId, member]));
    this.#members = await elector.health(groupId, { signal });
    for (const { nodeId, state, reason, sinceMs } of this.#members) {
      const from = before.get(nodeId)?.state ?? null;
      before.delete(nodeId);
      if (from !== state) this.#tell({ nodeId, from, to: state, reason, sinceMs });
    }
    for (const { nodeId, state } of before.values()) {
      this.#tell({ nodeId, from: state, to: null, reason: "not heard of for a long time", sinceMs: null });
    }
  }

  #tell(change: HealthChange): void {
    const { groupId, clock, changed } = this.#options;
    const { nodeId, sinceMs, ...rest } = change;
    publish({
      event: "member_health",
      measurements: { time: clock.wallMs(), ...(sinceMs === null ? {} : { since: sinceMs }) },
      metadata: { node: nodeId, group: groupId, ...rest },
    });
    changed?.(change);
  }
}
