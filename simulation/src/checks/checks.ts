import type {
  Acted,
  Answer,
  AskedElection,
  Check,
  CheckCode,
  CheckContext,
  Lead,
  Listed,
  Looked,
  Met,
  Participant,
  Read,
  Recalled,
  Watched,
  WatchedAll,
  WrittenEntry,
} from "./check.js";
import type { LeadershipEvent, ResignRequest } from "@tenure/core";
import type { GroupTruth, RecordWrite } from "../truth.js";
import type { SimServer } from "../sim-server.js";
import { AskedBans } from "./asked-bans.js";
import { FreshReads } from "./fresh-reads.js";
import { HonestAnswers } from "./honest-answers.js";
import { InTime } from "./in-time.js";
import { KeptActs } from "./kept-acts.js";
import { LeaseEnds } from "./lease-ends.js";
import { Marks } from "./marks.js";
import { NoGaps } from "./no-gaps.js";
import { OneHolder } from "./one-holder.js";
import { OneLeader } from "./one-leader.js";
import { QueueOrder } from "./queue-order.js";
import { Takeovers } from "./takeovers.js";
import { TrueAnswers } from "./true-answers.js";
import { TrueElections } from "./true-elections.js";
import { TrueReasons } from "./true-reasons.js";
import { WholeHistory } from "./whole-history.js";
import { WholeWatch } from "./whole-watch.js";
import { WholeWatchAll } from "./whole-watch-all.js";

export interface Violation {
  readonly code: CheckCode;
  readonly atMs: number;
  readonly what: string;
}

/** All checkers as one. Of each kind of violation the first is kept. */
export class Checks implements Required<Check> {
  readonly violations: Map<CheckCode, Violation> = new Map();
  readonly #checks: readonly Check[];
  readonly #fail: CheckContext["fail"];

  constructor(context: Omit<CheckContext, "fail">, onViolation: (violation: Violation) => void) {
    const told: CheckContext = {
      ...context,
      fail: (code, what) => {
        const violation = { code, what, atMs: context.nowMs() };
        if (!this.violations.has(code)) this.violations.set(code, violation);
        onViolation(violation);
      },
    };
    this.#fail = (code, what) => told.fail(code, what);
    this.#checks = [
      new OneLeader(told),
      new OneHolder(told),
      new FreshReads(told),
      new WholeWatch(told),
      new WholeWatchAll(told),
      new TrueReasons(told),
      new WholeHistory(told),
      new Marks(told),
      new LeaseEnds(told),
      new AskedBans(told),
      new KeptActs(told),
      new HonestAnswers(told),
      new QueueOrder(told),
      new InTime(told),
      new TrueAnswers(told),
      new NoGaps(told),
      new TrueElections(told),
      new Takeovers(told),
    ];
  }

  /** A rejection that no caller of the port should ever see. */
  unexpected(error: unknown): void {
    this.#fail("E1", error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  onWrite(write: RecordWrite): void {
    for (const check of this.#checks) check.onWrite?.(write);
  }

  onHistory(truth: GroupTruth, before: readonly LeadershipEvent[]): void {
    for (const check of this.#checks) check.onHistory?.(truth, before);
  }

  onLead(lead: Lead): void {
    for (const check of this.#checks) check.onLead?.(lead);
  }

  onStop(lead: Lead, how: "ended" | "lapsed"): void {
    for (const check of this.#checks) check.onStop?.(lead, how);
  }

  onStarted(participant: Participant): void {
    for (const check of this.#checks) check.onStarted?.(participant);
  }

  onPromoted(participant: Participant, term: number, signal: AbortSignal): void {
    for (const check of this.#checks) check.onPromoted?.(participant, term, signal);
  }

  onWorkEnded(participant: Participant): void {
    for (const check of this.#checks) check.onWorkEnded?.(participant);
  }

  onDemoted(participant: Participant, reason: string, isLeader: boolean): void {
    for (const check of this.#checks) check.onDemoted?.(participant, reason, isLeader);
  }

  onAsked(asked: AskedElection): void {
    for (const check of this.#checks) check.onAsked?.(asked);
  }

  onCrashed(participant: Participant): void {
    for (const check of this.#checks) check.onCrashed?.(participant);
  }

  onResignSent(request: ResignRequest): void {
    for (const check of this.#checks) check.onResignSent?.(request);
  }

  onActed(acted: Acted): void {
    for (const check of this.#checks) check.onActed?.(acted);
  }

  onResumeSent(groupId: string): void {
    for (const check of this.#checks) check.onResumeSent?.(groupId);
  }

  onAnswer(answer: Answer): void {
    for (const check of this.#checks) check.onAnswer?.(answer);
  }

  onRead(read: Read): void {
    for (const check of this.#checks) check.onRead?.(read);
  }

  onWatched(watched: Watched): void {
    for (const check of this.#checks) check.onWatched?.(watched);
  }

  onListed(listed: Listed): void {
    for (const check of this.#checks) check.onListed?.(listed);
  }

  onLooked(looked: Looked): void {
    for (const check of this.#checks) check.onLooked?.(looked);
  }

  onRecalled(recalled: Recalled): void {
    for (const check of this.#checks) check.onRecalled?.(recalled);
  }

  onMet(met: Met): void {
    for (const check of this.#checks) check.onMet?.(met);
  }

  onEntry(entry: WrittenEntry): void {
    for (const check of this.#checks) check.onEntry?.(entry);
  }

  onUnavailable(server: string, error: Error): void {
    for (const check of this.#checks) check.onUnavailable?.(server, error);
  }

  onClosed(server: SimServer, tookMs: number): void {
    for (const check of this.#checks) check.onClosed?.(server, tookMs);
  }

  onWatchedAll(watched: WatchedAll): void {
    for (const check of this.#checks) check.onWatchedAll?.(watched);
  }

  onTick(): void {
    for (const check of this.#checks) check.onTick?.();
  }

  onEnd(): void {
    for (const check of this.#checks) check.onEnd?.();
  }
}
