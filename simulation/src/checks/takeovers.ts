import type { RecordWrite } from "../truth.js";
import { type Check, type CheckContext, type Lead, mayWin, type Participant } from "./check.js";

interface Succession {
  readonly by: Participant;
  readonly term: number;
  readonly dueMs: number;
  readonly how: string;
}

/** It gave its lease back: a waiting candidate is elected by that write, a watching one campaigns at the news. */
const GIVEN_BACK: ReadonlySet<string> = new Set(["stopped", "finished", "resigned"]);
const SOON_MS = 500;
/** The longest takeover delay that an `Election` here has of its own. */
const OWN_DELAY_MS = 300;
/** A process that has run for this long campaigns. */
const READY_MS = 2500;

/** L10: without faults, the next `Election` leads in time after one has stopped, resigned or crashed. */
export class Takeovers implements Check {
  readonly #context: CheckContext;
  readonly #participants = new Set<Participant>();
  /** Per group. */
  readonly #due = new Map<string, Succession>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onStarted(participant: Participant): void {
    this.#participants.add(participant);
  }

  onDemoted(by: Participant, reason: string): void {
    if (GIVEN_BACK.has(reason)) this.#expect(by, this.#soonMs, reason);
  }

  /** A candidate whose server has stopped answering has to notice that first. */
  get #soonMs(): number {
    return SOON_MS + this.#context.noticedMs;
  }

  onCrashed(by: Participant): void {
    const { last } = this.#context.truth(by.groupId);
    // The lease counts from its last renewal, or from a write after it.
    const renewedMs = (last?.atMs ?? 0) - this.#context.nowMs();
    this.#expect(by, renewedMs + this.#lapseMs(by), "crashed");
  }

  /** How long after the last renewal of a leader that crashed another one leads. */
  #lapseMs({ groupId, ttlMs }: Participant): number {
    const { driftRatio } = this.#context;
    const delayMs = this.#context.truth(groupId).record?.config?.policy.takeoverDelayMs ?? 0;
    const leaseMs = (ttlMs * (1 + driftRatio)) / (1 - driftRatio);
    return leaseMs + delayMs + OWN_DELAY_MS + this.#soonMs;
  }

  onLead({ groupId, led }: Lead): void {
    const due = this.#due.get(groupId);
    if (due !== undefined && led.term > due.term) this.#due.delete(groupId);
  }

  /** A server may elect a candidate that is gone while it cannot know; that lease has to expire. */
  onWrite({ groupId, events, record, atMs }: RecordWrite): void {
    const due = this.#due.get(groupId);
    // A server that was frozen may carry out a renewal after its leader has crashed. The group waits for that lease, too.
    if (due?.how === "crashed" && record.holder?.instanceId === due.by.process.instanceId)
      this.#due.set(groupId, { ...due, dueMs: Math.max(due.dueMs, atMs + this.#lapseMs(due.by)) });
    if (!events.some(({ type }) => type === "LEADER_CHANGED")) return;
    const isThere = [...this.#participants].some(
      ({ process }) => process.instanceId === record.holder?.instanceId && !process.clock.isKilled,
    );
    if (!isThere) this.#due.delete(groupId);
  }

  onTick(): void {
    const nowMs = this.#context.nowMs();
    for (const participant of this.#participants)
      if (participant.process.clock.isKilled) this.#participants.delete(participant);
    for (const [groupId, { by, term, dueMs, how }] of this.#due) {
      if (nowMs < dueMs) continue;
      this.#due.delete(groupId);
      const successor = [...this.#participants].find((each) => each !== by && this.#mayLead(each, groupId));
      if (successor !== undefined)
        this.#context.fail(
          "L10",
          `${by.process.name} ${how} in term ${term} of ${groupId}, and ${successor.process.name} does not lead yet`,
        );
    }
  }

  #expect(by: Participant, withinMs: number, how: string): void {
    const nowMs = this.#context.nowMs();
    const { record } = this.#context.truth(by.groupId);
    const isHolder = record?.holder?.instanceId === by.process.instanceId;
    if (nowMs < this.#context.chaosMs + this.#context.settledMs || record === null || !isHolder) return;
    this.#due.set(by.groupId, { by, term: record.term, dueMs: nowMs + withinMs, how });
  }

  #mayLead(participant: Participant, groupId: string): boolean {
    const { record } = this.#context.truth(groupId);
    const { process, ttlMs } = participant;
    if (this.#context.nowMs() < participant.restsUntilMs + SOON_MS) return false;
    const readyMs = READY_MS + this.#context.noticedMs;
    if (participant.groupId !== groupId || !process.clock.isRunning || participant.awakeMs() < readyMs)
      return false;
    const isHeldBack = record === null || record.pause !== null || record.transfer !== null;
    return !isHeldBack && mayWin(record, { groupId, nodeId: process.nodeId, ttlMs });
  }
}
