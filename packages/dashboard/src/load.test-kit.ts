/** Many groups, each led and renewed at a steady rate, in batches as a client library sends them. */
import type { Tenure } from "./tenure.test-kit.js";

const LEASE_MS = 60_000;
const AT_ONCE = 100;
const BATCHES_PER_SECOND = 5;

interface Renewal {
  readonly group_id: string;
  readonly node_id: string;
  readonly term: number;
  readonly extend_by_ms: number;
}

interface Result {
  readonly ok: boolean;
  readonly error?: string;
  readonly message?: string;
}

export class Load {
  readonly #tenure: Tenure;
  readonly #renewals: readonly Renewal[];
  #timer: ReturnType<typeof setInterval> | undefined;
  #next = 0;
  renewed = 0;
  /** Uncertain: the store was too slow, as on an overloaded machine. Repeated in the next round. */
  unanswered = 0;
  /** The distinct answers to refused renewals. */
  readonly failures: Set<string> = new Set<string>();

  private constructor(tenure: Tenure, renewals: readonly Renewal[]) {
    this.#tenure = tenure;
    this.#renewals = renewals;
  }

  static async elect(tenure: Tenure, groups: number): Promise<Load> {
    const renewals: Renewal[] = [];
    for (let first = 0; first < groups; first += AT_ONCE) {
      const batch = Array.from({ length: Math.min(AT_ONCE, groups - first) }, async (_, i) => {
        const groupId = `load/shard-${String(first + i).padStart(5, "0")}`;
        const nodeId = `worker-${(first + i) % 40}`;
        const term = await tenure.elect(groupId, nodeId, LEASE_MS);
        return { group_id: groupId, node_id: nodeId, term, extend_by_ms: LEASE_MS };
      });
      renewals.push(...(await Promise.all(batch)));
    }
    return new Load(tenure, renewals);
  }

  start(perSecond: number): void {
    const size = perSecond / BATCHES_PER_SECOND;
    this.#timer = setInterval(() => void this.#renew(size), 1000 / BATCHES_PER_SECOND);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #renew(size: number): Promise<void> {
    const all = this.#renewals;
    const renewals = Array.from({ length: size }, () => all[this.#next++ % all.length]);
    const { body } = await this.#tenure.ask("POST", "/v1/renew", { renewals });
    for (const { ok, error, message } of body["results"] as Result[]) {
      if (ok) this.renewed++;
      else if (error === "BACKEND_UNAVAILABLE") this.unanswered++;
      else this.failures.add(`${error}: ${message}`);
    }
  }
}
