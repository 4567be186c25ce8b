/** Shared by the laws of an elector. Nothing here knows a test runner or sleeps: waits are campaigns and watches. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type {
  CampaignRequest,
  CampaignResult,
  Elector,
  Leader,
  WatchEvent,
  WatchOptions,
} from "../elector.js";
import type { ElectorAdmin } from "../elector-admin.js";
import type { TestFunction } from "./support.js";

export interface OpenElector {
  readonly elector: Elector;
  /** A second elector over the same state, like another server. Without one, the first elector is used for both. */
  another?(): Promise<Elector>;
  /** Called when a law is done; closes what was opened. */
  dispose(): Promise<void>;
}

export interface Bench {
  readonly elector: Elector;
  /** The other server, opened when first asked for. */
  other(): Promise<Elector>;
  /** A group id that no other law uses. */
  readonly groupId: string;
}

export interface AdminBench extends Bench {
  readonly elector: ElectorAdmin;
  other(): Promise<ElectorAdmin>;
}

export type ElectorLaw<B extends Bench = Bench> = (name: string, run: (bench: B) => Promise<void>) => void;

export function electorLawOf<B extends Bench>(
  test: TestFunction,
  open: () => Promise<OpenElector>,
): ElectorLaw<B> {
  return (name, run) =>
    test(name, async () => {
      const opened = await open();
      let other: Promise<Elector> | null = null;
      const bench: Bench = {
        elector: opened.elector,
        other: () => (other ??= opened.another?.() ?? Promise.resolve(opened.elector)),
        groupId: newGroupId(),
      };
      try {
        await run(bench as B);
      } finally {
        await opened.dispose();
      }
    });
}

/** Long enough for any store and any test machine, for laws that are not about the end of a lease. */
export const LONG_MS = 20_000;
/** The shortest ttl that the default policy allows, for laws that only wait for the end of the lease. */
export const SHORT_MS = 500;
/** For laws in which something happens before the lease ends: a busy machine still does it in time. */
export const LEASE_MS = 2000;
/** How late an expected event may be at most. */
export const SOON_MS = 2000;

export function newGroupId(): string {
  return `conformance/${randomUUID()}`;
}

/** A candidate with a fresh instance id, like a start of our own client. */
export function candidate(
  groupId: string,
  nodeId: string,
  rest: Partial<CampaignRequest> = {},
): CampaignRequest {
  return { groupId, nodeId, instanceId: `${nodeId}-${randomUUID()}`, ttlMs: LONG_MS, ...rest };
}

export type Elected = CampaignResult & { readonly kind: "elected" };
export type Lost = CampaignResult & { readonly kind: "lost" };

export function elected(result: CampaignResult): Elected {
  assert(result.kind === "elected", `elected was expected, the answer is ${JSON.stringify(result)}`);
  return result;
}

export function lost(result: CampaignResult): Lost {
  assert(result.kind === "lost", `lost was expected, the answer is ${JSON.stringify(result)}`);
  return result;
}

export async function win(elector: Elector, request: CampaignRequest): Promise<Leader> {
  return elected(await elector.campaign(request)).leader;
}

export function isLeader(leader: Leader | null | undefined, nodeId: string, term: number): void {
  assert.deepEqual(
    leader === null || leader === undefined ? leader : { nodeId: leader.nodeId, term: leader.term },
    { nodeId, term },
  );
}

/** The claim of a leader, as `renew` and `resign` take it. */
export function claimOf(
  request: CampaignRequest,
  term: number,
): {
  groupId: string;
  nodeId: string;
  instanceId: string | undefined;
  term: number;
} {
  return { groupId: request.groupId, nodeId: request.nodeId, instanceId: request.instanceId, term };
}

/** Waits until earlier requests through this elector have arrived: each read is a separate round trip. */
export async function arrived(elector: Elector, groupId: string): Promise<void> {
  for (let i = 0; i < 3; i++) await elector.leader(groupId);
}

/** One turn of the event loop: reads that are answered from memory would keep I/O from ever being served. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Renews until the answer names a successor. */
export async function successorAsked(
  elector: Elector,
  leader: CampaignRequest,
  term: number,
): Promise<string> {
  for (;;) {
    const renewal = await elector.renew({ ...claimOf(leader, term), ttlMs: LONG_MS });
    assert(renewal.kind === "renewed", JSON.stringify(renewal));
    if (renewal.transferTo !== undefined) return renewal.transferTo;
    await turn();
  }
}

/** Term and number of the last event, which no refused request may change. */
export async function mark(elector: Elector, groupId: string): Promise<string> {
  const probe = new WatchProbe(elector, groupId);
  const { cursor, term, leaderNodeId } = await probe.next();
  await probe.stop();
  return `${leaderNodeId} leads term ${term} after ${cursor} events`;
}

export function watching(
  elector: Elector,
  groupId: string,
  options?: WatchOptions,
): AsyncIterator<WatchEvent> {
  return elector.watch(groupId, options)[Symbol.asyncIterator]();
}

/** Reads one watch. */
export class WatchProbe {
  readonly #controller = new AbortController();
  readonly #iterator: AsyncIterator<WatchEvent>;

  constructor(elector: Elector, groupId: string, options: Omit<WatchOptions, "signal"> = {}) {
    this.#iterator = watching(elector, groupId, { ...options, signal: this.#controller.signal });
  }

  async next(): Promise<WatchEvent> {
    const result = await this.#iterator.next();
    assert(result.done !== true, "a watch ends only by throwing");
    return result.value;
  }

  /** The next `count` events, in order. */
  async take(count: number): Promise<readonly WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }

  /** Reads until an event of that term. */
  async until(type: WatchEvent["type"], term: number): Promise<WatchEvent> {
    for (;;) {
      const event = await this.next();
      if (event.type === type && event.term === term) return event;
    }
  }

  async stop(): Promise<void> {
    const reason = new Error("the law is done");
    this.#controller.abort(reason);
    await assert.rejects(this.#iterator.next(), (error) => error === reason);
  }
}
