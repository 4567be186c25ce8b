/**
 * A peer as an `Elector`, so that an `Election` with its hooks runs over it. Its one group is the leadership of the
 * cluster, and its one candidate is this node.
 *
 * Promised: a caller that is elected or renewed leads no longer, by its own deadline, than the peer does, because that
 * deadline counts from a round sent after the call arrived. Weaker than over a store: "lost" is answered from what this
 * peer knows, the events of `watch` are those that it observed, and metadata and priorities are not passed on. The peer
 * renews by itself. Closing this elector does not stop the peer.
 */
import {
  BackendUnavailableError,
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  ClosedError,
  type Elector,
  GroupNotFoundError,
  InvalidTtlError,
  type Leader,
  type LeaderOptions,
  type Leadership,
  type NotLeader,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  sleep,
  TenureError,
  UnauthorizedError,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import {
  checkId,
  checkInteger,
  onAbort,
  parseCampaign,
  parseRenew,
  parseRenewMany,
  parseResign,
  type ParsedCampaign,
  type ParsedRenew,
  unlessAborted,
  LinkedController,
  within,
} from "@tenure/core/internal";
import type { ObservedLeader } from "../protocol/observations.js";
import type { Peer } from "../protocol/peer.js";
import type { PeerEvent } from "../protocol/peer-events.js";
import { ObservedEvents } from "./observed-events.js";
import { watchObserved } from "./watch-observed.js";

export interface PeerElectorOptions {
  /** The peer. It is neither started nor stopped here. */
  readonly peer: Peer;
  /** The name of its one group. @defaultValue `tc` */
  readonly groupId?: string;
}

/** A term that was granted to a caller. */
interface Given {
  readonly term: number;
  readonly instanceId: string | null;
}

/** How long a round is waited for, as a share of the ttl. */
const PATIENCE = 1 / 3;

export class PeerElector implements Elector {
  readonly #peer: Peer;
  readonly #groupId: string;
  readonly #events: ObservedEvents;
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  readonly #inFlight = new Set<Promise<unknown>>();
  #given: Given | null = null;
  #resigned: Given | null = null;
  #campaigns = 0;

  constructor({ peer, groupId = "tc" }: PeerElectorOptions) {
    this.#peer = peer;
    this.#groupId = checkId(groupId, "groupId");
    this.#events = new ObservedEvents(this.#groupId, () => peer.clock.wallMs());
    this.#events.observe(peer.observedLeader(), "expired");
    this.#stopListening = peer.on((event) => this.#heard(event));
  }

  campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return this.#run(options, () => this.#campaign(parseCampaign(request), options?.signal));
  }

  renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    return this.#run(options, () => this.#renew(parseRenew(request)));
  }

  renewMany(requests: readonly RenewRequest[], options?: CallOptions): Promise<readonly RenewManyResult[]> {
    return this.#run(options, () =>
      Promise.all(parseRenewMany(requests).map((each) => this.#renew(each).catch(failed))),
    );
  }

  resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.#run(options, async () => {
      const { groupId, claim } = parseResign(request);
      this.#check(groupId, claim.nodeId);
      const given = { term: claim.term, instanceId: claim.instanceId };
      if (this.#isClaimed(given) && (await this.#peer.resign(claim.term))) {
        this.#resigned = this.#given ?? given;
        return { kind: "resigned" };
      }
      return matches(this.#resigned, given) ? { kind: "resigned" } : this.#notLeader();
    });
  }

  leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#run(options, async () => {
      this.#check(checkId(groupId, "groupId"));
      if (options?.consistency === "local") {
        const leader = this.#peer.observedLeader();
        // This knowledge is at most one lease old; otherwise the peer would know no leader.
        return { leader: this.#shown(leader), term: this.#peer.term, ageMs: this.#peer.ttlMs };
      }
      const seen = await this.#peer.look();
      if (seen === null)
        throw new BackendUnavailableError("no majority of the electorate answered; retry later");
      return { leader: this.#shown(seen.leader), term: seen.term, ageMs: 0 };
    });
  }

  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent> {
    this.#check(checkId(groupId, "groupId"));
    const { cursor, signal } = options ?? {};
    const from =
      cursor === undefined ? undefined : checkInteger(cursor, "cursor", 0, Number.MAX_SAFE_INTEGER);
    return watchObserved(this.#events, from, [signal, this.#closing.signal]);
  }

  async close(): Promise<void> {
    this.#stopListening();
    this.#closing.abort(new ClosedError("the elector is closed"));
    await Promise.allSettled(this.#inFlight);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #campaign(
    { groupId, candidate, waitMs }: ParsedCampaign,
    signal: AbortSignal | undefined,
  ): Promise<CampaignResult> {
    this.#check(groupId, candidate.nodeId, candidate.ttlMs);
    const peer = this.#peer;
    const arrivedMs = peer.clock.monotonicMs();
    const ending = new LinkedController(this.#closing.signal, signal);
    const ended = ending.signal;
    this.#campaigns++;
    const asked = peer.campaign();
    const limit = waitMs === 0 ? asked.tried : sleep(peer.clock, waitMs, ended).catch(() => {});
    try {
      while (await this.#untilLeading(limit, ended)) {
        const given = { term: peer.leading()?.term ?? 0, instanceId: candidate.instanceId };
        const isTaken = this.#given?.term === given.term;
        // Two missing instance ids are equal; a missing id never equals a given one.
        if (isTaken && this.#given?.instanceId !== given.instanceId) break;
        const sentMs = await this.#earnedSince(arrivedMs, given.term);
        if (sentMs === null) continue;
        // A disconnected caller must not be elected.
        if (ended.aborted) break;
        this.#given = given;
        const waited = waitMs === 0 ? {} : { waitedMs: Math.max(0, Math.floor(sentMs - arrivedMs)) };
        return { kind: "elected", leader: this.#self(given.term), confirmed: isTaken, ...waited };
      }
      const leader = this.#shown(peer.observedLeader());
      return { kind: "lost", leader, retryAfterMs: Math.ceil(peer.ttlMs / 3) };
    } finally {
      ending.unlink();
      ending.abort();
      asked.stop();
      this.#campaigns--;
      this.#giveBack();
    }
  }

  /** True once this peer leads, false at the limit: the end of the wait or, without a wait, of the attempt. */
  #untilLeading(limit: Promise<void>, ended: AbortSignal): Promise<boolean> {
    if (this.#peer.isLeader()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const done = (isLeading: boolean) => () => {
        stopListening();
        stopWaiting();
        resolve(isLeading);
      };
      const stopListening = this.#peer.on(({ kind }) => {
        if (kind === "elected") done(true)();
      });
      const stopWaiting = onAbort(ended, done(false));
      if (ended.aborted) return done(false)();
      void limit.then(done(false));
    });
  }

  /** When a round was sent that gave a deadline, at or after `sinceMs`; `null` if the term was lost meanwhile. */
  async #earnedSince(sinceMs: number, term: number): Promise<number | null> {
    const earnedMs = this.#peer.earnedMs();
    if (earnedMs === null || earnedMs >= sinceMs) return earnedMs;
    return (await this.#round(term))?.monotonicMs ?? null;
  }

  async #renew({ groupId, claim, ttlMs }: ParsedRenew): Promise<RenewResult> {
    this.#check(groupId, claim.nodeId, ttlMs);
    if (!this.#isClaimed({ term: claim.term, instanceId: claim.instanceId })) return this.#notLeader();
    const sent = await this.#round(claim.term);
    return sent === null ? this.#notLeader() : { kind: "renewed", leader: this.#self(claim.term) };
  }

  /** A separate round of renewals, sent after the call. */
  #round(term: number): ReturnType<Peer["renew"]> {
    const { clock, ttlMs } = this.#peer;
    const late = (): Error =>
      new BackendUnavailableError("no majority of the electorate has renewed; retry later");
    return within(clock, { limitMs: ttlMs * PATIENCE, late }, (signal) =>
      unlessAborted(signal, this.#peer.renew(term)),
    );
  }

  /** A term that no caller uses any more is given back. */
  #giveBack(): void {
    const leading = this.#peer.leading();
    if (leading === null || this.#campaigns > 0 || this.#peer.stands === "always") return;
    if (this.#given?.term !== leading.term) void this.#peer.resign(leading.term);
  }

  /** Whether this term is led, and by the instance it was granted to. */
  #isClaimed(claim: Given): boolean {
    if (this.#peer.leading()?.term !== claim.term) return false;
    return this.#given?.term !== claim.term || matches(this.#given, claim);
  }

  #check(groupId: string, nodeId?: string, ttlMs?: number): void {
    const { identity, ttlMs: longestMs } = this.#peer;
    if (groupId !== this.#groupId) throw new GroupNotFoundError(groupId);
    if (nodeId !== undefined && nodeId !== identity) {
      throw new UnauthorizedError(
        `this peer is ${identity} and campaigns for itself only, not for ${nodeId}`,
      );
    }
    if (ttlMs !== undefined && (ttlMs < 1 || ttlMs > longestMs)) {
      throw new InvalidTtlError("ttlMs", ttlMs, 1, longestMs);
    }
  }

  #heard(event: PeerEvent): void {
    if (event.kind === "observed") {
      this.#events.observe(event.leader, event.released ? "resigned" : "expired");
    }
  }

  #notLeader(): NotLeader {
    const leader = this.#peer.observedLeader();
    return {
      kind: "not-leader",
      currentLeader: leader === null ? null : { nodeId: leader.leaderId, term: leader.term },
    };
  }

  #self(term: number): Leader {
    const { identity, clock } = this.#peer;
    return { nodeId: identity, term, expiresAtMs: Math.round(clock.wallMs() + this.#peer.leftMs()) };
  }

  /** All that is known of another peer's lease: it does not expire before a ttl has passed without a renewal. */
  #shown(leader: ObservedLeader | null): Leader | null {
    if (leader === null) return null;
    const { clock, ttlMs } = this.#peer;
    return { nodeId: leader.leaderId, term: leader.term, expiresAtMs: Math.round(clock.wallMs() + ttlMs) };
  }

  /** Async, so that a malformed request rejects rather than throws. */
  async #run<T>(options: CallOptions | undefined, work: () => Promise<T>): Promise<T> {
    options?.signal?.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    const running = work();
    this.#inFlight.add(running);
    void running.catch(() => {}).finally(() => this.#inFlight.delete(running));
    return unlessAborted(options?.signal, running);
  }
}

/** A renewal or resign without an instance id matches any instance. */
function matches(given: Given | null, claim: Given): boolean {
  return (
    given !== null &&
    given.term === claim.term &&
    (given.instanceId === claim.instanceId || claim.instanceId === null)
  );
}

function failed(error: unknown): RenewManyResult {
  if (error instanceof TenureError) return { kind: "failed", error };
  throw error;
}
