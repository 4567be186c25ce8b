/**
 * The leader's view of all members, from their signs of life: who is healthy, suspect or down, why, and since when. For
 * deciding whom to give work to; never for deciding who leads.
 */
import { type Clock, type ElectorAdmin, InvalidRequestError, type MemberHealth, sleep } from "@tenure/core";
import type { ChildContext, ChildSpec } from "../supervisor/child.js";
import { functionChild } from "../supervisor/function-child.js";

export interface HealthChange {
  readonly nodeId: string;
  readonly from: MemberHealth["state"] | null;
  /** `null`: forgotten after a long time. */
  readonly to: MemberHealth["state"] | null;
  readonly reason: string;
}

export interface ClusterHealthOptions {
  readonly elector: Pick<ElectorAdmin, "health">;
  readonly groupId: string;
  readonly intervalMs?: number;
  readonly clock: Clock;
  readonly changed?: (change: HealthChange) => void;
  readonly failed?: (error: unknown) => void;
}

export class ClusterHealth {
  readonly #options: ClusterHealthOptions;
  #members: readonly MemberHealth[] = [];

  constructor(options: ClusterHealthOptions) {
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
    const { clock, intervalMs = 2000, failed } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        // What was seen last stays until there is something newer.
        if (!signal.aborted) failed?.(error);
      }
      await sleep(clock, intervalMs, signal).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { elector, groupId, changed } = this.#options;
    const before = new Map(this.#members.map((member) => [member.nodeId, member]));
    this.#members = await elector.health(groupId, { signal });
    for (const { nodeId, state, reason } of this.#members) {
      const from = before.get(nodeId)?.state ?? null;
      before.delete(nodeId);
      if (from !== state) changed?.({ nodeId, from, to: state, reason });
    }
    for (const { nodeId, state } of before.values()) {
      changed?.({ nodeId, from: state, to: null, reason: "not heard of for a long time" });
    }
  }
}
