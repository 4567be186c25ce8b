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
  Candidate,
  Participant,
  Read,
  Recalled,
  Watched,
  WatchedAll,
  WrittenEntry,
} from "./check.js";
import type { CampaignResult, LeadershipEvent, ResignRequest } from "@tenure/core";
import type { Act } from "../acts.js";
import type { GroupTruth, RecordWrite } from "../truth.js";
import type { SimServer } from "../sim-server.js";
import { AskedBans } from "./asked-bans.js";
import { FreshReads } from "./fresh-reads.js";
import { HonestAnswers } from "./honest-answers.js";
import { InTime } from "./in-time.js";
import { KeptActs } from "./kept-acts.js";
import { LastingActs } from "./lasting-acts.js";
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
import { WarmHandovers } from "./warm-handovers.js";
import { WholeActs } from "./whole-acts.js";
import { WholeHistory } from "./whole-history.js";
import { WholeWatch } from "./whole-watch.js";
import { WholeWatchAll } from "./whole-watch-all.js";

export interface Violation {
  readonly code: CheckCode;
  readonly atMs: number;
  readonly what: string;
}

/** All checkers as one. The first violation of each kind is kept. */
export class Checks implements Required<Check> {
  readonly violations: Map<CheckCode, Violation> = new Map();
  readonly #by: Listeners;
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
    this.#by = listeners([
      new OneLeader(told),
      new OneHolder(told),
      new FreshReads(told),
      new WholeWatch(told),
      new WholeWatchAll(told),
      new TrueReasons(told),
      new WholeHistory(told),
      new WholeActs(told),
      new Marks(told),
      new LeaseEnds(told),
      new AskedBans(told),
      new KeptActs(told),
      new LastingActs(told),
      new HonestAnswers(told),
      new QueueOrder(told),
      new WarmHandovers(told),
      new InTime(told),
      new TrueAnswers(told),
      new NoGaps(told),
      new TrueElections(told),
      new Takeovers(told),
    ]);
  }

  /** A rejection that no caller of the port should ever see. */
  unexpected(error: unknown): void {
    this.#fail("E1", error instanceof Error ? (error.stack ?? error.message) : String(error));
  }

  onWrite(write: RecordWrite): void {
    for (const check of this.#by.onWrite) check.onWrite(write);
  }

  onHistory(truth: GroupTruth, before: readonly LeadershipEvent[]): void {
    for (const check of this.#by.onHistory) check.onHistory(truth, before);
  }

  onLead(lead: Lead): void {
    for (const check of this.#by.onLead) check.onLead(lead);
  }

  onStop(lead: Lead, how: "ended" | "lapsed"): void {
    for (const check of this.#by.onStop) check.onStop(lead, how);
  }

  onStarted(participant: Participant): void {
    for (const check of this.#by.onStarted) check.onStarted(participant);
  }

  onPromoted(participant: Participant, term: number, signal: AbortSignal): void {
    for (const check of this.#by.onPromoted) check.onPromoted(participant, term, signal);
  }

  onWorkEnded(participant: Participant): void {
    for (const check of this.#by.onWorkEnded) check.onWorkEnded(participant);
  }

  onDemoted(participant: Participant, reason: string, isLeader: boolean): void {
    for (const check of this.#by.onDemoted) check.onDemoted(participant, reason, isLeader);
  }

  onAsked(asked: AskedElection): void {
    for (const check of this.#by.onAsked) check.onAsked(asked);
  }

  onCrashed(participant: Participant): void {
    for (const check of this.#by.onCrashed) check.onCrashed(participant);
  }

  onWinGivenUp(candidate: Candidate): void {
    for (const check of this.#by.onWinGivenUp) check.onWinGivenUp(candidate);
  }

  onResignSent(request: ResignRequest): void {
    for (const check of this.#by.onResignSent) check.onResignSent(request);
  }

  onActed(acted: Acted): void {
    for (const check of this.#by.onActed) check.onActed(acted);
  }

  onActSent(act: Act): void {
    for (const check of this.#by.onActSent) check.onActSent(act);
  }

  onIntruded(server: string, groupId: string, result: CampaignResult): void {
    for (const check of this.#by.onIntruded) check.onIntruded(server, groupId, result);
  }

  onResumeSent(groupId: string): void {
    for (const check of this.#by.onResumeSent) check.onResumeSent(groupId);
  }

  onAnswer(answer: Answer): void {
    for (const check of this.#by.onAnswer) check.onAnswer(answer);
  }

  onRead(read: Read): void {
    for (const check of this.#by.onRead) check.onRead(read);
  }

  onWatched(watched: Watched): void {
    for (const check of this.#by.onWatched) check.onWatched(watched);
  }

  onListed(listed: Listed): void {
    for (const check of this.#by.onListed) check.onListed(listed);
  }

  onLooked(looked: Looked): void {
    for (const check of this.#by.onLooked) check.onLooked(looked);
  }

  onRecalled(recalled: Recalled): void {
    for (const check of this.#by.onRecalled) check.onRecalled(recalled);
  }

  onMet(met: Met): void {
    for (const check of this.#by.onMet) check.onMet(met);
  }

  onEntry(entry: WrittenEntry): void {
    for (const check of this.#by.onEntry) check.onEntry(entry);
  }

  onUnavailable(server: string, error: Error): void {
    for (const check of this.#by.onUnavailable) check.onUnavailable(server, error);
  }

  onClosed(server: SimServer, tookMs: number): void {
    for (const check of this.#by.onClosed) check.onClosed(server, tookMs);
  }

  onWatchedAll(watched: WatchedAll): void {
    for (const check of this.#by.onWatchedAll) check.onWatchedAll(watched);
  }

  onTick(): void {
    for (const check of this.#by.onTick) check.onTick();
  }

  onEnd(): void {
    for (const check of this.#by.onEnd) check.onEnd();
  }
}

/** For each kind of notification, the checkers that want it: most want few, and there are many notifications. */
type Listeners = { readonly [K in keyof Check]-?: readonly Required<Pick<Check, K>>[] };

function listeners(checks: readonly Check[]): Listeners {
  const on = <K extends keyof Check>(kind: K) =>
    checks.filter((check): check is Check & Required<Pick<Check, K>> => check[kind] !== undefined);
  return {
    onWrite: on("onWrite"),
    onHistory: on("onHistory"),
    onLead: on("onLead"),
    onStop: on("onStop"),
    onStarted: on("onStarted"),
    onPromoted: on("onPromoted"),
    onWorkEnded: on("onWorkEnded"),
    onDemoted: on("onDemoted"),
    onAsked: on("onAsked"),
    onCrashed: on("onCrashed"),
    onWinGivenUp: on("onWinGivenUp"),
    onResignSent: on("onResignSent"),
    onActed: on("onActed"),
    onActSent: on("onActSent"),
    onIntruded: on("onIntruded"),
    onResumeSent: on("onResumeSent"),
    onAnswer: on("onAnswer"),
    onRead: on("onRead"),
    onWatched: on("onWatched"),
    onListed: on("onListed"),
    onLooked: on("onLooked"),
    onRecalled: on("onRecalled"),
    onMet: on("onMet"),
    onEntry: on("onEntry"),
    onUnavailable: on("onUnavailable"),
    onClosed: on("onClosed"),
    onWatchedAll: on("onWatchedAll"),
    onTick: on("onTick"),
    onEnd: on("onEnd"),
  };
}
