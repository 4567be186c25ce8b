/**
 * The resource managers that this server knows, by the backend of each. Kept in its own store.
 *
 * Each entry has a version, and of two states of one entry the higher version counts. So servers that were separated
 * come to the same registry, whichever exchanges entries with which, in any order and any number of times. No clock is
 * involved. A removed entry stays known as removed; otherwise a server that missed the removal would bring it back.
 */
import type { Clock } from "@tenure/core";
import type { OwnRecords } from "../disk/own-records.js";
import { SerialQueue } from "../serial-queue.js";

/** Compared by number, then by the server that made it. */
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

interface Stored extends RmEntry {
  /** For people. */
  readonly updatedAtUnix: number;
}

export interface RmRegistryOptions {
  readonly identity: string;
  readonly records: OwnRecords;
  readonly clock: Clock;
}

const PREFIX = "rm/";
/**
 * How far a version may be above the known one. Each change raises it by one, so no correct server is further ahead; a
 * version near the largest number could not be changed any more.
 */
export const MAX_VERSION_JUMP: number = 2 ** 32;

export function inverse(change: RmChange): RmChange {
  return { ...change, kind: change.kind === "register" ? "unregister" : "register" };
}

/** Negative if `a` is lower. */
export function compareVersions(a: RmVersion, b: RmVersion): number {
  return a.n - b.n || (a.by < b.by ? -1 : a.by > b.by ? 1 : 0);
}

export class RmRegistry {
  readonly #options: RmRegistryOptions;
  readonly #queue = new SerialQueue();

  /** By backend and endpoint. Each has its own record, so that a change costs the same however many there are. */
  readonly #known = new Map<string, Stored>();

  constructor(options: RmRegistryOptions) {
    this.#options = options;
    for (const [key, value] of options.records.under(PREFIX)) this.#known.set(key, value as Stored);
  }

  get updatedAtUnix(): number {
    let latest = 0;
    for (const { updatedAtUnix } of this.#known.values()) latest = Math.max(latest, updatedAtUnix);
    return latest;
  }

  /** All known entries, including removed ones. */
  entries(): readonly RmEntry[] {
    return [...this.#known.values()];
  }

  /** A part of the entries, in the order of their keys; `next` is the key after which to continue, `null` if that was all. */
  page(after: string, limit: number): { readonly entries: readonly RmEntry[]; readonly next: string | null } {
    const keys = [...this.#known.keys()].filter((key) => key > after).toSorted();
    const taken = keys.slice(0, limit);
    return {
      entries: taken.map((key) => this.#known.get(key) as Stored),
      next: keys.length > limit ? (taken.at(-1) ?? null) : null,
    };
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
    return this.#known.get(keyOf(backendHash, endpoint))?.isRegistered === true;
  }

  /**
   * A new version of the entry, at this server only. `isNew` is false if the entry was so already; then nothing is
   * written.
   */
  make(change: RmChange): Promise<{ readonly entry: RmEntry; readonly isNew: boolean }> {
    return this.#queue.run(async () => {
      const { kind, backendHash, endpoint } = change;
      const known = this.#known.get(keyOf(backendHash, endpoint));
      const isRegistered = kind === "register";
      if (known !== undefined && known.isRegistered === isRegistered) return { entry: known, isNew: false };
      const version = { n: (known?.version.n ?? 0) + 1, by: this.#options.identity };
      const entry = { backendHash, endpoint, isRegistered, version };
      await this.#put([entry]);
      return { entry, isNew: true };
    });
  }

  /** Takes the entries that are newer than the known ones. False if that changes nothing. */
  merge(entries: readonly RmEntry[]): Promise<boolean> {
    return this.#queue.run(async () => {
      const newer = entries.filter((entry) => {
        const before = this.#known.get(keyOf(entry.backendHash, entry.endpoint))?.version ?? NONE;
        return compareVersions(entry.version, before) > 0 && entry.version.n - before.n <= MAX_VERSION_JUMP;
      });
      if (newer.length > 0) await this.#put(newer);
      return newer.length > 0;
    });
  }

  entry(backendHash: string, endpoint: string): RmEntry | null {
    return this.#known.get(keyOf(backendHash, endpoint)) ?? null;
  }

  async #put(changed: readonly RmEntry[]): Promise<void> {
    const { records, clock } = this.#options;
    const updatedAtUnix = Math.floor(clock.wallMs() / 1000);
    const stored = changed.map(({ backendHash, endpoint, isRegistered, version }) => {
      return { backendHash, endpoint, isRegistered, version, updatedAtUnix };
    });
    const byKey = stored.map((each) => [keyOf(each.backendHash, each.endpoint), each] as const);
    await records.put(Object.fromEntries(byKey.map(([key, each]) => [PREFIX + key, each])));
    for (const [key, each] of byKey) this.#known.set(key, each);
  }
}

const NONE: RmVersion = { n: 0, by: "" };

function keyOf(backendHash: string, endpoint: string): string {
  return `${backendHash} ${endpoint}`;
}
