import type { LeaveOutcome } from "../protocol/leaving.js";
import type { PeerEvent } from "../protocol/peer-events.js";

/** The same as pino's: an object of fields, then a sentence. */
export interface NodeLog {
  info(fields: object, sentence: string): void;
  warn(fields: object, sentence: string): void;
}

/** Logs a repeated problem once: a peer that is away fails every second. */
export class PeerLog {
  readonly #log: NodeLog;
  readonly #failing = new Map<string, string>();
  #waiting = "";

  constructor(log: NodeLog) {
    this.#log = log;
  }

  get log(): NodeLog {
    return this.#log;
  }

  event(event: PeerEvent): void {
    switch (event.kind) {
      case "elected":
        return this.#log.info({ term: event.term }, "became coordinator");
      case "lost":
        return this.#log.warn({ term: event.term, cause: event.cause }, "no longer coordinator");
      case "observed":
        return event.leader === null
          ? this.#log.info({}, "the coordinator was lost; there is none")
          : this.#log.info(
              {
                term: event.leader.term,
                leader_id: event.leader.leaderId,
                leader_endpoint: event.leader.leaderEndpoint,
              },
              "the coordinator is known",
            );
      case "founded":
        return this.#log.info(
          { cluster: event.config.cluster, members: Object.keys(event.config.members) },
          "this server has founded the cluster",
        );
      case "electorate":
        return this.#log.info(
          {
            epoch: [event.config.epoch.term, event.config.epoch.n],
            members: Object.keys(event.config.members).toSorted(),
          },
          "the electorate has changed",
        );
      case "waiting":
        if (event.why === this.#waiting) return;
        this.#waiting = event.why;
        return this.#log.info({ for: event.for }, `waiting to take part: ${event.why}`);
      case "not-standing":
        return this.#log.info(
          { reason: event.why.reason },
          `this server does not stand for election: ${event.why.detail}`,
        );
      case "other-cluster":
        return this.#log.warn(
          { identity: event.identity, endpoint: event.endpoint, cluster: event.cluster, own: event.own },
          "another cluster answers under the name of a server that is known here: if that server lost its disk, stop it, empty its " +
            "data directory and start it with the others as join targets",
        );
      case "held-back":
        return event.why === null
          ? this.#log.info({}, "the change of the electorate is no longer held back")
          : this.#log.warn(
              { reason: event.why.reason, for_ms: Math.round(event.why.forMs) },
              `a change of the electorate is held back: ${event.why.detail}`,
            );
    }
  }

  left(outcome: LeaveOutcome): void {
    if (outcome.kind === "removed") {
      return this.#log.info({}, "this server has left the cluster and may be stopped");
    }
    const { electorate } = outcome;
    this.#log.info(
      { electorate },
      electorate.length === 1
        ? "this server has left as the last elector: start it first, the others wait for it"
        : "this server has left together with all other electors: start a majority of them to go on",
    );
  }

  failed(what: string, endpoint: string, cause: unknown): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const key = `${what} ${endpoint}`;
    if (this.#failing.get(key) === why) return;
    this.#failing.set(key, why);
    this.#log.warn({ endpoint }, `${what} failed: ${why}`);
  }

  succeeded(what: string, endpoint: string): void {
    if (this.#failing.delete(`${what} ${endpoint}`)) this.#log.info({ endpoint }, `${what} works again`);
  }
}
