/** Reports what changes at this peer, each change once, and keeps the reasons that `Peer.status()` shows. */
import type { Clock } from "@tenure/core";
import { hasSameMembers } from "./configuration.js";
import type { Configuration } from "./messages.js";
import type { Observing } from "./observing.js";
import type { PeerEvent } from "./peer-events.js";
import { type HeldBack, keepSince, type NotStanding, type Since } from "./peer-status.js";
import type { Voter } from "./voter.js";

const MAX_STRANGERS = 1000;

type Reason<T> = Omit<T, "forMs">;

export interface ReportingOptions {
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly voter: Voter;
  readonly observing: Observing;
}

export class Reporting {
  readonly #options: ReportingOptions;
  readonly #listeners = new Set<(event: PeerEvent) => void>();
  /** As it was last reported. */
  #electorate: Configuration | null;
  #notStanding: Since<Reason<NotStanding>> | null = null;
  #reportedNotStanding = "";
  #heldBack: Since<Reason<HeldBack>> | null = null;
  #reportedHeldBack = "";
  /** Servers of other clusters that were reported. */
  readonly #strangers = new Set<string>();

  constructor(options: ReportingOptions) {
    this.#options = options;
    this.#electorate = options.voter.config;
  }

  on(listener: (event: PeerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(event: PeerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Two clusters under the same names are a problem that the servers cannot repair. */
  otherCluster(identity: string, endpoint: string, cluster: string): void {
    const own = this.#options.voter.config?.cluster;
    const key = `${identity} ${cluster}`;
    if (own === undefined || own === cluster || this.#strangers.has(key)) return;
    // A server that shows another cluster each time must not fill the memory.
    if (this.#strangers.size >= MAX_STRANGERS) return;
    this.#strangers.add(key);
    this.tell({ kind: "other-cluster", identity, endpoint, cluster, own });
  }

  /** Checks whether the leader or the electorate has changed. */
  changed(): void {
    this.#reportLeader();
    this.#reportElectorate();
  }

  get notStanding(): NotStanding | null {
    return this.#withAge(this.#notStanding);
  }

  get heldBack(): HeldBack | null {
    return this.#withAge(this.#heldBack);
  }

  /** `null`: this peer campaigns or leads. */
  setNotStanding(why: Reason<NotStanding> | null): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#notStanding = keepSince(this.#notStanding, why, nowMs, keyOf);
    // While another peer leads, not campaigning is expected; and a first start has its own event.
    const isExpected = why === null || why.reason === "lease-active" || why.reason === "not-founded";
    if (isExpected || this.#options.observing.leader() !== null) {
      this.#reportedNotStanding = "";
      return;
    }
    if (this.#reportedNotStanding === keyOf(why)) return;
    this.#reportedNotStanding = keyOf(why);
    this.tell({ kind: "not-standing", why: { ...why, forMs: 0 } });
  }

  /** Reported once it has lasted longer than a ttl: most steps wait for a round or two. */
  setHeldBack(why: Reason<HeldBack> | null): void {
    const { clock, ttlMs } = this.#options;
    this.#heldBack = keepSince(this.#heldBack, why, clock.monotonicMs(), keyOf);
    const { heldBack } = this;
    if (heldBack === null) {
      if (this.#reportedHeldBack !== "") this.tell({ kind: "held-back", why: null });
      this.#reportedHeldBack = "";
    } else if (heldBack.forMs > ttlMs && this.#reportedHeldBack !== keyOf(heldBack)) {
      this.#reportedHeldBack = keyOf(heldBack);
      this.tell({ kind: "held-back", why: heldBack });
    }
  }

  #reportLeader(): void {
    const observing = this.#options.observing;
    const leader = observing.leader();
    const before = observing.last;
    if (!observing.isNews(leader)) return;
    const released = before !== null && this.#options.voter.isReleased(before.term);
    this.tell({ kind: "observed", leader, released });
  }

  #reportElectorate(): void {
    const { config } = this.#options.voter;
    const before = this.#electorate;
    if (config === null || config === before) return;
    this.#electorate = config;
    if (before === null || !hasSameMembers(before, config)) this.tell({ kind: "electorate", config });
  }

  #withAge<T>(since: Since<T> | null): (T & { readonly forMs: number }) | null {
    if (since === null) return null;
    return { ...since.what, forMs: Math.max(0, this.#options.clock.monotonicMs() - since.sinceMs) };
  }
}

function keyOf({ reason, detail }: Reason<NotStanding> | Reason<HeldBack>): string {
  return `${reason} ${detail}`;
}
