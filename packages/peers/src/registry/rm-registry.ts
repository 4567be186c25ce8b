/** The resource managers that this server knows, by the backend that each stands for. Kept in its own store. */
import type { Clock } from "@tenure/core";
import type { OwnRecords } from "../disk/own-records.js";

export interface RmChange {
  readonly kind: "register" | "unregister";
  readonly backendHash: string;
  readonly endpoint: string;
}

export interface RmBackend {
  readonly backendHash: string;
  /** Sorted. */
  readonly endpoints: readonly string[];
}

interface Stored {
  readonly backends: Readonly<Record<string, readonly string[]>>;
  readonly updatedAtUnix: number;
}

const KEY = "rm-members";
const EMPTY: Stored = { backends: {}, updatedAtUnix: 0 };

export function inverse(change: RmChange): RmChange {
  return { ...change, kind: change.kind === "register" ? "unregister" : "register" };
}

export class RmRegistry {
  readonly #records: OwnRecords;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(records: OwnRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  get updatedAtUnix(): number {
    return this.#stored().updatedAtUnix;
  }

  backends(): readonly RmBackend[] {
    const { backends } = this.#stored();
    return Object.entries(backends)
      .map(([backendHash, endpoints]) => ({ backendHash, endpoints }))
      .toSorted((a, b) => (a.backendHash < b.backendHash ? -1 : 1));
  }

  backend(backendHash: string): RmBackend {
    return { backendHash, endpoints: this.#stored().backends[backendHash] ?? [] };
  }

  /** Every endpoint once. */
  endpoints(): readonly string[] {
    return [...new Set(Object.values(this.#stored().backends).flat())].toSorted();
  }

  has({ backendHash, endpoint }: Omit<RmChange, "kind">): boolean {
    return this.backend(backendHash).endpoints.includes(endpoint);
  }

  /** Here alone. False if it was so already: then nothing is written. */
  apply(change: RmChange): Promise<boolean> {
    const turn = this.#last.then(() => this.#apply(change));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /**
   * Takes the whole of another's registry if that is newer: who was away has missed changes, and nobody tells it each. False
   * if it stays as it is.
   */
  adopt(backends: readonly RmBackend[], updatedAtUnix: number): Promise<boolean> {
    const turn = this.#last.then(async () => {
      if (updatedAtUnix <= this.updatedAtUnix) return false;
      const next = Object.fromEntries(
        backends.map(({ backendHash, endpoints }) => [backendHash, endpoints.toSorted()]),
      );
      await this.#records.put({ [KEY]: { backends: next, updatedAtUnix } });
      return true;
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #apply(change: RmChange): Promise<boolean> {
    const { kind, backendHash, endpoint } = change;
    if (this.has(change) === (kind === "register")) return false;
    const others = this.backend(backendHash).endpoints.filter((each) => each !== endpoint);
    const endpoints = kind === "register" ? [...others, endpoint].toSorted() : others;
    const { [backendHash]: _, ...rest } = this.#stored().backends;
    const backends = endpoints.length === 0 ? rest : { ...rest, [backendHash]: endpoints };
    await this.#records.put({ [KEY]: { backends, updatedAtUnix: Math.floor(this.#clock.wallMs() / 1000) } });
    return true;
  }

  #stored(): Stored {
    return (this.#records.get(KEY) as Stored | null) ?? EMPTY;
  }
}
