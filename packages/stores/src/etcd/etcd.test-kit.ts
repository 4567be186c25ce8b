/**
 * What tests do to etcd beside the store: as its operator, through its JSON gateway, and as a server that follows the
 * feed.
 */
import { waitLimitMs } from "@tenure/engines";
import { scheduler } from "node:timers/promises";
import {
  BackendUnavailableError,
  type CasOp,
  type CasOutcome,
  type Entry,
  type Revision,
  type Store,
} from "@tenure/core";

const POLL_MS = 20;
const PATIENCE_MS = 20_000;

/** The longest a call may take when no server answers, with room for a busy machine. */
export const BOUND_MS = 12_000;

/** Polls until the condition holds; fails with what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUp = performance.now() + waitLimitMs(PATIENCE_MS);
  while (!(await holds())) {
    if (performance.now() > giveUp) throw new Error(`waited in vain until ${what}`);
    await scheduler.wait(POLL_MS);
  }
}

/** How long the work takes in milliseconds, however it ends. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work.catch(() => undefined);
  return performance.now() - startedAtMs;
}

/** The API of etcd in JSON: `kv/put`, `auth/user/add`; keys and values in base64. */
export async function askGateway<T = unknown>(
  endpoint: string,
  path: string,
  body: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const request = {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
  const response = await fetch(`http://${endpoint}/v3/${path}`, request);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

interface Status {
  readonly leader: string;
  readonly header: { readonly member_id: string };
}

/** The index of the leader among the members. */
export async function leaderAmong(endpoints: readonly string[]): Promise<number> {
  const statuses = await Promise.all(endpoints.map((each) => askGateway<Status>(each, "maintenance/status")));
  return statuses.findIndex(({ leader, header }) => leader === header.member_id);
}

/** The entries of a feed opened now. */
export async function entriesOf(store: Store): Promise<Map<string, Entry>> {
  for await (const { entries } of store.feed()) return new Map(entries.map((entry) => [entry.key, entry]));
  throw new Error("the feed ended silently");
}

/** One operation; a rejection of the store counts as refused. */
export async function swap(
  store: Store,
  op: CasOp,
): Promise<CasOutcome | { readonly kind: "refused"; readonly error: unknown }> {
  try {
    const [outcome] = await store.compareAndSet([op]);
    return outcome as CasOutcome;
  } catch (error) {
    if (!(error instanceof BackendUnavailableError)) throw error;
    return { kind: "refused", error };
  }
}

/** One operation that succeeds eventually; a write that was lost on the way is found by a read. */
export async function swapInTheEnd(store: Store, op: CasOp): Promise<Revision> {
  let revision: Revision | null = null;
  await until(`${op.key} is written`, async () => {
    const outcome = await swap(store, op);
    if (outcome.kind === "swapped") ({ revision } = outcome);
    if (outcome.kind === "conflict" && outcome.current?.value === op.value) ({ revision } = outcome.current);
    return revision !== null;
  });
  return revision as unknown as Revision;
}

/**
 * Follows the feed as an elector does: one feed after the other, each from its snapshot. Checks what must always hold.
 */
export class Follower {
  readonly seen: Map<string, Entry> = new Map();
  readonly endings: unknown[] = [];
  progress: Revision = 0;
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #onEntry: (entry: Entry) => void;
  readonly #done: Promise<void>;

  constructor(store: Store, onEntry: (entry: Entry) => void = () => undefined) {
    this.#store = store;
    this.#onEntry = onEntry;
    this.#done = this.#follow();
  }

  /** Waits until everything up to `revision` has been seen. */
  async reach(revision: Revision): Promise<void> {
    await until(`revision ${revision} has been seen`, () => this.progress >= revision);
  }

  /** Throws the violations that were found. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const { kind, entries, revision } of this.#store.feed({ signal })) {
          if (revision < this.progress)
            throw new Error(`progress went back from ${this.progress} to ${revision}`);
          for (const entry of entries) this.#take(entry, kind === "snapshot");
          this.progress = revision;
        }
        throw new Error("the feed ended silently");
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof BackendUnavailableError)) throw error;
        this.endings.push(error);
        await scheduler.wait(POLL_MS);
      }
    }
  }

  #take(entry: Entry, isSnapshot: boolean): void {
    const before = this.seen.get(entry.key)?.revision ?? 0;
    if (entry.revision < before || (entry.revision === before && !isSnapshot)) {
      throw new Error(`${entry.key} at ${entry.revision} came after ${before}`);
    }
    this.seen.set(entry.key, entry);
    this.#onEntry(entry);
  }
}
