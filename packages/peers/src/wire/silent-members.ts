import type { CancelTimer, Clock } from "@tenure/core";
import type { Membership } from "../membership/membership.js";
import type { NodeLog } from "./peer-log.js";

/** Logs members that fell silent. Nothing else reports them: they merely stop being members. */
export class SilentMembers {
  readonly #membership: Membership;
  readonly #log: NodeLog;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #active: ReadonlyMap<string, string> = new Map();
  #cancel: CancelTimer = () => {};

  constructor(membership: Membership, log: NodeLog, clock: Clock, intervalMs: number) {
    this.#membership = membership;
    this.#log = log;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#look();
    this.#cancel = this.#clock.after(this.#intervalMs, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }

  #look(): void {
    const active = new Map(this.#membership.active().map(({ identity, endpoint }) => [identity, endpoint]));
    const left = new Set(this.#membership.left());
    for (const [identity, endpoint] of this.#active) {
      if (active.has(identity) || left.has(identity)) continue;
      this.#log.warn(
        { identity, endpoint },
        "a member's announcements expired; it is no longer an active member",
      );
    }
    this.#active = active;
  }
}
