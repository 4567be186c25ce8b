/** How a node leaves: temporarily, when its process is stopped, or for good, at an operator's request. */
import { type Clock, sleep } from "@tenure/core";
import { unlessAborted, within } from "@tenure/core/internal";
import type { DecisionLog } from "../decisions/decision-log.js";
import type { Announcer } from "../membership/announcer.js";
import type { LeaveOutcome } from "../protocol/leaving.js";
import type { Peer } from "../protocol/peer.js";
import type { PeerLog } from "./peer-log.js";

export interface NodeLeavingParts {
  readonly endpoint: string;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly peer: () => Peer;
  readonly announcer: Announcer;
  readonly decisions: DecisionLog;
  /** Removes this server from the registry of every member. */
  readonly unregister: () => Promise<void>;
  readonly log: PeerLog;
}

/** How many leases a node that stops waits to be removed from the electorate: an election, a first step and a removal. */
const LEAVE_LEASES = 4;
const RETURNED = new Error("the server is a member again");

export class NodeLeaving {
  readonly #parts: NodeLeavingParts;
  /** Set while it waits to be released after a requested leave. */
  #letGoing: AbortController | null = null;

  constructor(parts: NodeLeavingParts) {
    this.#parts = parts;
  }

  /**
   * Before the process ends: sends a goodbye to all, as far as they answer within a time limit. The server stays a
   * resource manager.
   */
  async stop(): Promise<void> {
    const { endpoint, ttlMs, clock, peer, announcer, log } = this.#parts;
    const limitMs = LEAVE_LEASES * ttlMs;
    const late = (): Error =>
      new Error(
        `no coordinator removed this server from the electorate within ${limitMs} ms; it counts as crashed`,
      );
    const leave = async (signal: AbortSignal): Promise<LeaveOutcome> => {
      await announcer.leave({ anyway: true });
      return peer().leave({ signal });
    };
    try {
      log.left(await within(clock, { limitMs, late }, (signal) => unlessAborted(signal, leave(signal))));
    } catch (cause) {
      log.failed("leaving the cluster", endpoint, cause);
    }
  }

  /** After a leave that every member has confirmed. */
  letGo(): void {
    const { log } = this.#parts;
    this.#letGoing?.abort(RETURNED);
    this.#letGoing = new AbortController();
    this.#forGood(this.#letGoing.signal).then(
      (outcome) => log.left(outcome),
      () => {},
    );
  }

  /** This server is to be a member again. */
  returned(): void {
    this.#letGoing?.abort(RETURNED);
  }

  /** Waits until the electorate no longer contains it, and no member would make it apply decisions. */
  async #forGood(signal: AbortSignal): Promise<LeaveOutcome> {
    const { endpoint, ttlMs, clock, peer, decisions, unregister, log } = this.#parts;
    const outcome = await peer().leave({ signal });
    if (outcome.kind === "last") return outcome;
    await decisions.forgetOpen();
    for (;;) {
      try {
        await unlessAborted(signal, unregister());
        return outcome;
      } catch (cause) {
        signal.throwIfAborted();
        log.failed("unregistering this server as a resource manager", endpoint, cause);
        await sleep(clock, ttlMs, signal);
      }
    }
  }
}
