/** What checkers are notified of, and how they report a failure. */
import {
  type CampaignRequest,
  type CampaignResult,
  DEFAULT_POLICY,
  type Group,
  type GroupInput,
  type Leader,
  type Leadership,
  type LeadershipEvent,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  type WatchEvent,
} from "@tenure/core";
import type { ElectionRecord } from "@tenure/core/internal";
import type { ProcessClock } from "@tenure/core/testing";
import type { Act } from "../acts.js";
import type { GroupTruth, RecordWrite } from "../truth.js";
import type { SimServer } from "../sim-server.js";
import type { WaitingRooms } from "../waiting-rooms.js";

/** One run of a client process. */
export interface ClientProcess {
  readonly name: string;
  readonly nodeId: string;
  readonly instanceId: string | undefined;
  readonly clock: ProcessClock;
}

/** A client believes, right now, that it leads. */
export interface Lead {
  readonly process: ClientProcess;
  readonly groupId: string;
  readonly led: { readonly term: number; leftMs(): number };
}

/** One process that asks for the lease of one group. */
export interface Candidate {
  readonly process: ClientProcess;
  readonly groupId: string;
  readonly ttlMs: number;
}

/** One process's `Election` of one group. */
export interface Participant extends Candidate {
  /** How long it may act in this term, by all answers that it got. */
  grantedMs(term: number): number;
  /** How long its process has run since it was started or last paused. */
  awakeMs(): number;
  /** It does not campaign before this time, because it has resigned for a while. */
  restsUntilMs: number;
}

/** What `isLeader()` and `term()` return right now. */
export interface AskedElection {
  readonly participant: Participant;
  readonly isLeader: boolean;
  readonly term: number | null;
}

/** How long the client may act from now on, read from outside: reading does not stop its process. */
export function leftMs({ process, led }: Lead): number {
  return process.clock.look(() => led.leftMs());
}

interface Answered<V extends string, Q, A> {
  readonly verb: V;
  readonly request: Q;
  readonly result: A;
  /** At the server, in true time. */
  readonly arrivedMs: number;
  readonly answeredMs: number;
}

export type Answer =
  | Answered<"campaign", CampaignRequest, CampaignResult>
  | Answered<"renew", RenewRequest, RenewResult>
  | Answered<"resign", ResignRequest, ResignResult>;

/** An operator's act that was answered: as done, or as refused (`ConflictError`). */
export interface Acted {
  readonly act: Act;
  readonly outcome: "done" | "refused";
  /** What a transfer that was done resolves with. */
  readonly leader: Leader | null;
  /** At the server, in true time. */
  readonly arrivedMs: number;
  readonly answeredMs: number;
}

export interface Read {
  readonly groupId: string;
  readonly server: string;
  readonly consistency: "linearizable" | "local";
  readonly result: Leadership;
  readonly arrivedMs: number;
  readonly answeredMs: number;
  /** How long the server's monotonic clock has stood still in total, which the server cannot know. */
  readonly suspendedMs: number;
}

export interface Watched {
  readonly watcher: string;
  readonly groupId: string;
  /** The last event it had seen; `undefined` before the first item. */
  readonly cursor: number | undefined;
  readonly event: WatchEvent;
}

export interface WatchedAll {
  readonly watcher: string;
  /** That of the last item; `undefined` before the first one. */
  readonly cursor: number | undefined;
  readonly event: WatchEvent;
}

/** A write of any key. */
export interface WrittenEntry {
  readonly server: string;
  readonly key: string;
  readonly value: string;
  /** What it replaces was written by another version and cannot be read. */
  readonly isUnreadable: boolean;
}

/** The times of the request and the answer at that server, in true time. */
interface Asked {
  readonly server: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Listed extends Asked {
  readonly groups: readonly Group[];
}

export interface Looked extends Asked {
  readonly group: Group;
}

export interface Recalled extends Asked {
  readonly groupId: string;
  readonly events: readonly LeadershipEvent[];
}

/** The members right after a heartbeat of `wanted` was accepted. */
export interface Met extends Asked {
  readonly groupId: string;
  readonly wanted: string;
  readonly members: readonly string[];
  readonly health: readonly string[];
}

/** A request at a server that is not answered yet. */
export interface OpenRequest {
  readonly server: SimServer;
  /** How long the server may let it wait. */
  readonly waitMs: number;
  /** How long the server has run since it arrived. */
  runningMs: number;
}

export interface Check {
  onEntry?(entry: WrittenEntry): void;
  onListed?(listed: Listed): void;
  onLooked?(looked: Looked): void;
  onRecalled?(recalled: Recalled): void;
  onMet?(met: Met): void;
  /** A server answered that the store is unavailable. */
  onUnavailable?(server: string, error: Error): void;
  /** `closed`: after what time. */
  onClosed?(server: SimServer, tookMs: number): void;
  onWrite?(write: RecordWrite): void;
  onHistory?(truth: GroupTruth, before: readonly LeadershipEvent[]): void;
  /** After each answer that gave the client a deadline. */
  onLead?(lead: Lead): void;
  /** `lapsed`: its deadline passed, though it renewed and was not asked to step down. */
  onStop?(lead: Lead, how: "ended" | "lapsed"): void;
  onStarted?(participant: Participant): void;
  onPromoted?(participant: Participant, term: number, signal: AbortSignal): void;
  onWorkEnded?(participant: Participant): void;
  onDemoted?(participant: Participant, reason: string, isLeader: boolean): void;
  onAsked?(asked: AskedElection): void;
  onCrashed?(participant: Participant): void;
  /** A candidate gave its campaign up after its server had answered that it leads, and before the answer arrived. */
  onWinGivenUp?(candidate: Candidate): void;
  onResignSent?(request: ResignRequest): void;
  onActed?(acted: Acted): void;
  onActSent?(act: Act): void;
  onResumeSent?(groupId: string): void;
  /** A campaign that had to be refused was answered. */
  onIntruded?(server: string, groupId: string, result: CampaignResult): void;
  onAnswer?(answer: Answer): void;
  onRead?(read: Read): void;
  onWatched?(watched: Watched): void;
  onWatchedAll?(watched: WatchedAll): void;
  /** Called at intervals. */
  onTick?(): void;
  onEnd?(): void;
}

export interface CheckContext {
  readonly driftRatio: number;
  /** The longest time from a decision to its write in the store: durations in a record are as of the decision. */
  readonly decidedBeforeMs: number;
  /** How long processes may be stopped between a reading of the clock and its use; 0 if they never are. */
  readonly stoppedMs: number;
  readonly chaosMs: number;
  /** How often `onTick` is called. */
  readonly tickMs: number;
  /** The longest time that a call to the store takes without faults. */
  readonly callMs: number;
  /** The longest time from a write to its sight at another server without faults. */
  readonly sightMs: number;
  /** How long after the faults a server may be behind the store without knowing. */
  readonly behindMs: number;
  /** How long after a pause a candidate may campaign again: no event shows that the pause is over. */
  readonly resumedMs: number;
  /** How long a candidate may take to notice that its server has stopped answering, in profiles where servers do. */
  readonly noticedMs: number;
  /** How long after the faults their consequences are over. */
  readonly settledMs: number;
  readonly groups: readonly GroupTruth[];
  readonly rooms: WaitingRooms;
  /** All requests at servers that are not answered yet. */
  readonly requests: ReadonlySet<OpenRequest>;
  nowMs(): number;
  truth(groupId: string): GroupTruth;
  fail(code: CheckCode, what: string): void;
}

/** Whether only time and other candidates keep this candidate from winning, as far as the record shows. */
export function mayWin(record: ElectionRecord, { nodeId, ttlMs }: CampaignRequest): boolean {
  const { bans, config } = record;
  const { minTtlMs, maxTtlMs } = config?.policy ?? DEFAULT_POLICY;
  const allowed = config?.allowedNodes ?? null;
  return (
    !bans.some((ban) => ban.nodeId === nodeId) &&
    (allowed === null || allowed.includes(nodeId)) &&
    ttlMs >= minTtlMs &&
    ttlMs <= maxTtlMs
  );
}

/** Whether the record has the policy and the allowed nodes that a request asks for. */
export function hasConfig(
  { record: { config } }: RecordWrite,
  { policy, allowedNodes }: GroupInput,
): boolean {
  if (config === null) return false;
  const hasNodes =
    allowedNodes === undefined || JSON.stringify(config.allowedNodes) === JSON.stringify(allowedNodes);
  const wanted = Object.entries(policy ?? {});
  const present: Readonly<Record<string, unknown>> = { ...config.policy };
  return hasNodes && wanted.every(([key, value]) => value === undefined || present[key] === value);
}

export const CHECKS = {
  S1: "two clients inside their deadlines",
  S2: "two instances in one term",
  S2b: "one term led in two stints",
  S3: "a term that does not rise",
  S4: "a read that is not linearizable, or a refusal without the leader although there is one",
  S5: "a watcher that misses, doubles or is sent back",
  S6: "an expiry before its time, or a reason that is not true",
  S6h: "a history with a gap or a double",
  S7: "a takeover before its delay is over, or a delay after another end than an expiry",
  S8: "a node elected that was banned, or while the group was paused or reserved",
  S9: "a yes without its own write, or an acknowledged write lost",
  S10: "an operator's act answered as done that has not happened",
  S11: "a transfer whose answer does not say what happened",
  S12: "a candidate elected before another that waits at the same server and is to be served first",
  S13: "a watcher of all groups that misses, doubles or is sent back",
  S14: "an entry that cannot be read written over",
  S15: "an answer about groups, members or histories that is not so, or something left of a refused request",
  S16: "an Election that leads outside its deadline or its term, or calls its hooks out of order",
  S17: "an operator's act that was undone without a request",
  S18: "a leader asked to yield to a cold successor that no operator has allowed",
  S19: "an operator's act that is missing in the history of its group, listed twice or otherwise",
  L1: "no leader for too long, without faults",
  L2: "a holder answered that it is not the leader",
  L3: "a mark or a lease that outlives its time",
  L4: "a request, a wait or a close that does not end in time, or a refusal without faults",
  L5: "a deposed leader's lease extended",
  L6: "a vacancy while a candidate waits that may win, without faults",
  L7: "a waiting successor or challenger that the leader is not asked to yield to, without faults",
  L9: "a lease lost though its leader renews it, without faults",
  L8: "a term won by a client that was gone, not taken back, without faults",
  L10: "no successor in time after an Election stopped, without faults",
  E1: "an unexpected error",
} as const;

export type CheckCode = keyof typeof CHECKS;
