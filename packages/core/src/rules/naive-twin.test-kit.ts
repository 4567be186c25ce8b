/**
 * Test only: the lease rules once more, deliberately naive, written from the text of the design and not from the code.
 *
 * One true time for all, every end an absolute moment, every term and every event ever kept in full lists, nothing
 * removed because it is over. An observer believes that everything ends later by as much as it saw the record late
 * (`lagMs`); what it writes makes its belief the truth.
 */
import type { LeadershipEvent } from "../event.js";
import type { ElectionRecord } from "../record.js";
import { NaiveBelief } from "./naive-belief.test-kit.js";
import {
  type Command,
  LONG_AGO,
  type NaiveOutcome,
  type NaiveState,
  UNTIL_RESUMED,
} from "./naive-state.test-kit.js";

export class NaiveTwin {
  #state: NaiveState = {
    terms: [],
    events: [],
    leaseUntilMs: LONG_AGO,
    deposedBy: null,
    bans: [],
    successor: null,
    pausedUntilMs: LONG_AGO,
    restsUntilMs: LONG_AGO,
    config: null,
    deleted: true,
    dropped: 0,
  };

  /** Runs a command at `nowMs` at a server that saw the current record `lagMs` after it was written. */
  apply(command: Command, nowMs: number, lagMs: number, wallMs: number): NaiveOutcome {
    const belief = new NaiveBelief(this.#state, nowMs, lagMs, wallMs);
    const outcome = belief.apply(command);
    if (belief.wrote) this.#state = belief.state;
    return outcome;
  }

  /** The record that the last write must have left. */
  record(writtenAtMs: number): ElectionRecord {
    const { terms, events, bans, successor, ...state } = this.#state;
    const last = terms.at(-1);
    const ended = terms.findLast((each) => each.ended !== null);
    const left = (untilMs: number) => Math.max(0, untilMs - writtenAtMs);
    const holder = last === undefined || last.ended !== null ? null : last.holder;
    return {
      term: terms.length,
      holder,
      holdMs: holder === null ? 0 : left(state.leaseUntilMs),
      deposed: state.deposedBy === null ? null : { by: state.deposedBy },
      bans: bans
        .filter((ban) => left(ban.untilMs) > 0)
        .map((ban) => ({ nodeId: ban.nodeId, leftMs: left(ban.untilMs) })),
      transfer:
        successor === null || left(successor.untilMs) === 0
          ? null
          : {
              toNodeId: successor.nodeId,
              leftMs: left(successor.untilMs),
              ready: successor.ready,
              by: successor.by,
              ...(successor.allowCold ? { allowCold: true } : {}),
            },
      pause:
        left(state.pausedUntilMs) === 0
          ? null
          : { leftMs: state.pausedUntilMs === UNTIL_RESUMED ? null : left(state.pausedUntilMs) },
      delayMs: left(state.restsUntilMs),
      ended:
        ended === undefined
          ? null
          : {
              term: ended.term,
              nodeId: ended.holder.nodeId,
              instanceId: ended.holder.instanceId,
              reason: ended.ended ?? "expired",
            },
      eventNumber: events.length,
      events: events.slice(Math.max(state.dropped, events.length - 4)),
      act: null,
      config: state.config,
      founder: null,
      deleted: state.deleted,
    };
  }

  get events(): readonly LeadershipEvent[] {
    return this.#state.events;
  }
}

/** The record without what is only for people: who acted and why, and for how long an ended leader was silent. */
export function decisive(record: ElectionRecord): ElectionRecord {
  const { bans, pause, events } = record;
  return {
    ...record,
    act: null,
    bans: bans.map(({ nodeId, leftMs }) => ({ nodeId, leftMs })),
    pause: pause === null ? null : { leftMs: pause.leftMs },
    events: events.map(withoutSilence),
  };
}

export function withoutSilence({ silentMs: _, ...event }: LeadershipEvent): LeadershipEvent {
  return event;
}
