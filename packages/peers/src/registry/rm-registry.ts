/**
 * The resource managers that this server knows, by the backend that each stands for. Kept in its own store.
 *
 * Each entry has a version, and of two states of one entry the higher stands: so servers that were apart come to the same
 * registry whoever tells whom, in whatever order and however often. No clock takes part. What was removed stays known as
 * removed, or whoever has not heard of it would bring it back.
 */
import type { Clock } from "@tenure/core";
import type { OwnRecords } from "../disk/own-records.js";

/** Compared by number, then by who made it. */
export interface RmVersion {
  readonly n: number;
  readonly by: string;
}

export interface RmEntry {
  readonly backendHash: string;
  readonly endpoint: string;
  readonly isRegistered: boolean;
  readonly version: RmVersion;
}

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
  /** By backend and endpoint. */
  readonly entries: Readonly<Record<string, RmEntry>>;
  /** For people. */
  readonly updatedAtUnix: number;
}

export interface RmRegistryOptions {
  readonly identity: string;
  readonly records: OwnRecords;
  readonly clock: Clock;
}

const KEY = "rm-registry";
const EMPTY: Stored = { entries: {}, updatedAtUnix: 0 };

export function inverse(change: RmChange): RmChange {
  return { ...change, kind: change.kind === "register" ? "unregister" : "register" };
}

/** Negative if `a` is lower. */
export function compareVersions(a: RmVersion, b: RmVersion): number {
  return a.n - b.n || (a.by < b.by ? -1 : a.by > b.by ? 1 : 0);
}

export class RmRegistry {
  readonly #options: RmRegistryOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RmRegistryOptions) {
    this.#options = options;
  }

  get updatedAtUnix(): number {
    return this.#stored().updatedAtUnix;
  }

  /** Everything that is known, what was removed too. */
  entries(): readonly RmEntry[] {
    return Object.values(this.#stored().entries);
  }

  /** Those registered. */
  backends(): readonly RmBackend[] {
    const byHash = new Map<string, string[]>();
    for (const { backendHash, endpoint, isRegistered } of this.entries()) {
      if (isRegistered) byHash.set(backendHash, [...(byHash.get(backendHash) ?? []), endpoint]);
    }
    return [...byHash]
      .map(([backendHash, endpoints]) => ({ backendHash, endpoints: endpoints.toSorted() }))
      .toSorted((a, b) => (a.backendHash < b.backendHash ? -1 : 1));
  }

  backend(backendHash: string): RmBackend {
    const known = this.backends().find((each) => each.backendHash === backendHash);
    return known ?? { backendHash, endpoints: [] };
  }

  /** Every endpoint once. */
  endpoints(): readonly string[] {
    return [...new Set(this.backends().flatMap(({ endpoints }) => endpoints))].toSorted();
  }

  has({ backendHash, endpoint }: Omit<RmChange, "kind">): boolean {
    return this.#stored().entries[keyOf(backendHash, endpoint)]?.isRegistered === true;
  }

  /** A new version of the entry, here alone. `isNew` is false if it was so already: then nothing is written. */
  make(change: RmChange): Promise<{ readonly entry: RmEntry; readonly isNew: boolean }> {
    return this.#inTurn(async () => {
      const { kind, backendHash, endpoint } = change;
      const known = this.#stored().entries[keyOf(backendHash, endpoint)];
      const isRegistered = kind === "register";
      if (known !== undefined && known.isRegistered === isRegistered) return { entry: known, isNew: false };
      const version = { n: (known?.version.n ?? 0) + 1, by: this.#options.identity };
      const entry = { backendHash, endpoint, isRegistered, version };
      await this.#put([entry]);
      return { entry, isNew: true };
    });
  }

  /** Takes what is newer than what it knows. False if that changes nothing. */
  merge(entries: readonly RmEntry[]): Promise<boolean> {
    return this.#inTurn(async () => {
      const { entries: known } = this.#stored();
      const newer = entries.filter((entry) => {
        const before = known[keyOf(entry.backendHash, entry.endpoint)];
        return before === undefined || compareVersions(entry.version, before.version) > 0;
      });
      if (newer.length > 0) await this.#put(newer);
      return newer.length > 0;
    });
  }

  entry(backendHash: string, endpoint: string): RmEntry | null {
    return this.#stored().entries[keyOf(backendHash, endpoint)] ?? null;
  }

  async #put(changed: readonly RmEntry[]): Promise<void> {
    const { records, clock } = this.#options;
    const entries = { ...this.#stored().entries };
    for (const entry of changed) entries[keyOf(entry.backendHash, entry.endpoint)] = entry;
    await records.put({ [KEY]: { entries, updatedAtUnix: Math.floor(clock.wallMs() / 1000) } });
  }

  #stored(): Stored {
    return (this.#options.records.get(KEY) as Stored | null) ?? EMPTY;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

function keyOf(backendHash: string, endpoint: string): string {
  return `${backendHash} ${endpoint}`;
}
