import type { RecordWrite } from "../truth.js";
import type { AskedElection, Check, CheckContext, Participant } from "./check.js";

interface State {
  readonly participant: Participant;
  /** The last term that it was promoted in. */
  term: number;
  isPromoted: boolean;
  isWorking: boolean;
  signal: AbortSignal | null;
}

/**
 * Timers are late right after a machine was suspended: the work ends with the next heartbeat, of which there are five
 * in a ttl.
 */
const HEARTBEAT_SHARE = 0.21;

/**
 * S16: an `Election` keeps what it promises. `isLeader()` is true only inside the deadline of what was answered, in the
 * term of the last `onPromote`, before its signal aborts, and while the store holds the group for that instance. The
 * signal of running work aborts before another node is elected. Each `onPromote` has a higher term than the one before,
 * and one `onDemote`, after its work has ended. A leader that was replaced by force is not waited for.
 */
export class TrueElections implements Check {
  readonly #context: CheckContext;
  readonly #states = new Map<Participant, State>();
  readonly #forced = new Set<string>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite({ groupId, record, events, previous }: RecordWrite): void {
    for (const { type, reason, by } of events) {
      const isForced = record.deleted || by?.endsWith("force") === true;
      if (type === "LEADER_LOST" && reason === "deposed" && isForced)
        this.#forced.add(`${groupId} ${previous?.record.term ?? 0}`);
    }
    if (!events.some(({ type }) => type === "LEADER_CHANGED")) return;
    for (const { participant, term, isWorking, signal } of this.#states.values()) {
      if (participant.groupId !== groupId || !isWorking || signal?.aborted !== false || term >= record.term)
        continue;
      const { process, ttlMs } = participant;
      const isTold = process.clock.isRunning && participant.awakeMs() > ttlMs * HEARTBEAT_SHARE + 1;
      if (isTold && !this.#forced.has(`${groupId} ${term}`))
        this.#fail(participant, `works on in term ${term} while ${record.holder?.nodeId} is elected`);
    }
  }

  onPromoted(participant: Participant, term: number, signal: AbortSignal): void {
    const state = this.#state(participant);
    if (state.isPromoted) this.#fail(participant, `is promoted in term ${term} before it was demoted`);
    if (term <= state.term) this.#fail(participant, `is promoted in term ${term} after term ${state.term}`);
    Object.assign(state, { term, isPromoted: true, isWorking: true, signal });
  }

  onWorkEnded(participant: Participant): void {
    this.#state(participant).isWorking = false;
  }

  onDemoted(participant: Participant, reason: string, isLeader: boolean): void {
    const state = this.#state(participant);
    if (!state.isPromoted) this.#fail(participant, `is demoted (${reason}) without being promoted`);
    if (state.isWorking) this.#fail(participant, `is demoted (${reason}) before its work has ended`);
    if (isLeader) this.#fail(participant, `is demoted (${reason}), and isLeader() is true`);
    state.isPromoted = false;
  }

  onAsked({ participant, isLeader, term }: AskedElection): void {
    const state = this.#state(participant);
    if (!isLeader) return;
    if (term !== state.term || !state.isPromoted || state.signal?.aborted !== false)
      return this.#fail(participant, `is leader in term ${term}, and was not promoted in it or is to stop`);
    const leftMs = participant.grantedMs(term);
    if (leftMs <= 0)
      this.#fail(participant, `is leader in term ${term}, ${(-leftMs).toFixed(1)} ms after its deadline`);
    const { groupId, process } = participant;
    const record = this.#context.truth(groupId).record;
    const isHolder = record?.term === term && record.holder?.instanceId === process.instanceId;
    if (!isHolder && !this.#forced.has(`${groupId} ${term}`))
      this.#fail(
        participant,
        `is leader in term ${term}, and the store names ${record?.holder?.nodeId ?? "nobody"} in term ${record?.term}`,
      );
  }

  #fail({ process, groupId }: Participant, what: string): void {
    this.#context.fail("S16", `${process.name} in ${groupId} ${what}`);
  }

  #state(participant: Participant): State {
    let state = this.#states.get(participant);
    if (state === undefined) {
      state = { participant, term: 0, isPromoted: false, isWorking: false, signal: null };
      this.#states.set(participant, state);
    }
    return state;
  }
}
