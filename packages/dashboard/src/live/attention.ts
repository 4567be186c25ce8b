import type { Trouble } from "../model/group-row.js";
import type { AttentionReply, Finding } from "../model/wire.js";
import { type Api, RefusedError } from "./api.js";

const TROUBLES: readonly string[] = ["flapping", "missed_heartbeats"] satisfies Trouble[];

/** What the service's own checks found: the same findings as those of `tenure doctor`. */
export class Attention {
  /** The most severe first; `null`: not read yet. */
  findings: readonly Finding[] | null = null;
  /** How many more there are than the service lists. */
  omitted = 0;
  /** Why there are none, where the service refuses them. */
  refusal: string | null = null;
  readonly #api: Pick<Api, "get">;

  constructor(api: Pick<Api, "get">) {
    this.#api = api;
  }

  async read(): Promise<void> {
    try {
      const { findings, omitted } = await this.#api.get<AttentionReply>("/v1/attention");
      this.findings = findings.toSorted((a, b) => RANKS[a.severity] - RANKS[b.severity]);
      [this.omitted, this.refusal] = [omitted, null];
    } catch (error) {
      if (error instanceof RefusedError) this.refusal = error.message;
    }
  }

  /** The groups whose row cannot show its trouble by itself. */
  troubles(): ReadonlyMap<string, Trouble> {
    const found = new Map<string, Trouble>();
    for (const { kind, group_id } of this.findings ?? []) {
      if (group_id !== null && TROUBLES.includes(kind) && found.get(group_id) !== "flapping")
        found.set(group_id, kind as Trouble);
    }
    return found;
  }
}

const RANKS: Readonly<Record<Finding["severity"], number>> = { problem: 0, warning: 1, note: 2 };
