/**
 * The leader's view of all members, from when they were last seen: which are healthy, suspect or down, why, and since
 * when. For deciding which member gets work; never for deciding who leads.
 */
import {
  type Clock,
  type ElectorAdmin,
  InvalidRequestError,
  type MemberHealth,
  sleep,
  systemClock,
} from "@tenure/core";
import { checkId, checkInteger, checkKeys } from "@tenure/core/internal";
import type { ChildContext, ChildSpec } from "../supervisor/child.js";
import { functionChild } from "../supervisor/function-child.js";
import { publish } from "../telemetry/telemetry.js";

export interface HealthChange {
  readonly nodeId: string;
  readonly from: MemberHealth["state"] | null;
  /** `null`: forgotten after a long time. */
  readonly to: MemberHealth["state"] | null;
  readonly reason: string;
  /** On the wall clock of the server that judged; `null` for a forgotten member. */
  readonly sinceMs: number | null;
}

export interface ClusterHealthOptions {
  /** A Tenure service, or an elector over a store. An elector without members is refused. */
  readonly elector: Pick<ElectorAdmin, "health">;
  /** The group whose members are observed: that of the candidate, which is `coordinator` by default. */
  readonly groupId: string;
  /**
   * Time between two requests to the elector, in milliseconds, from 100 to 3,600,000. Electors store when a member was
   * seen every ten seconds, so a much shorter interval finds little more. A longer one delays the detection of a lost
   * member.
   *
   * @defaultValue 2000
   */
  readonly intervalMs?: number | undefined;
  /**
   * For tests.
   *
   * @defaultValue the machine's clock
   */
  readonly clock?: Clock | undefined;
  /** Called with each change of a member's health. @defaultValue none */
  readonly changed?: ((change: HealthChange) => void) | undefined;
  /** Called with the error when the elector did not answer; the last known state stays. @defaultValue none */
  readonly failed?: ((error: unknown) => void) | undefined;
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
  readonly #clock: Clock;
  #members: readonly MemberHealth[] = [];

  constructor(options: ClusterHealthOptions) {
    checkKeys(options, "", KNOWN);
    checkId(options.groupId, "groupId");
    this.#intervalMs = checkInteger(options.intervalMs ?? DEFAULT_INTERVAL_MS, "intervalMs", 100, 3_600_000);
    if (typeof options.elector.health !== "function") {
      throw new InvalidRequestError("elector", "keeps no members; use a Tenure service or a store");
    }
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** As of the last answer. */
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
    const { failed } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        // The last known state stays until there is a newer one.
        if (!signal.aborted) failed?.(error);
      }
      await sleep(this.#clock, this.#intervalMs, signal).catch(() => {});
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
    const { groupId, changed } = this.#options;
    const { nodeId, sinceMs, ...rest } = change;
    publish({
      event: "member_health",
      measurements: { time: this.#clock.wallMs(), ...(sinceMs === null ? {} : { since: sinceMs }) },
      metadata: { node: nodeId, group: groupId, ...rest },
    });
    changed?.(change);
  }
}
