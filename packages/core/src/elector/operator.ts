/** What an operator may do: the verbs of `ElectorAdmin` that change a group. */
import type { Reading } from "../clock.js";
import type { Leader } from "../elector.js";
import type { Group } from "../elector-admin.js";
import { ConflictError, BackendUnavailableError } from "../errors.js";
import type { LeadershipEvent } from "../event.js";
import type { OperatorAct, Order } from "../operator-act.js";
import type { ElectionRecord, Observation } from "../record.js";
import { isSameAct } from "../rules/acts.js";
import { carryOver } from "../rules/carry-over.js";
import { decideCreate, decideDelete, decideUpdate } from "../rules/configure.js";
import {
  decidePause,
  decideResume,
  decideStepDown,
  decideTransfer,
  type OperatorDecision,
  type Pause,
  type StepDown,
  type Transfer,
  transferProgress,
  withoutTransfer,
} from "../rules/operate.js";
import type { Campaigns } from "./campaigns.js";
import { stampOf } from "../rules/terms.js";
import { type ClocklessEngine, type Decide, refuseUnknown, type Step } from "./engine.js";
import type { GroupState } from "./group-state.js";
import type { Act, ParsedGroup } from "./requests.js";
import { successorsOf } from "./successors.js";
import { groupView, leaderView } from "./views.js";
import { Wakeup } from "../async/wakeup.js";

/**
 * How long the server where a successor waits may take to make the transfer ready; that server sees the mark at once. A
 * successor that the operator named is waited for until the time limit of the transfer. If the elector chose the
 * successor from the members, another one may be a better choice.
 */
const FOUND_MS = 1000;

/** `uncertain`: this act may have happened already. */
type Rule = (seen: Observation, now: Reading, uncertain: boolean) => OperatorDecision;

interface Acted {
  /** The record after the act, and the reading it was decided at. */
  readonly record: ElectionRecord;
  readonly at: Reading;
}

export class Operator {
  readonly #engine: ClocklessEngine;
  readonly #campaigns: Campaigns;

  constructor(engine: ClocklessEngine, campaigns: Campaigns) {
    this.#engine = engine;
    this.#campaigns = campaigns;
  }

  async create({ change, ...act }: ParsedGroup): Promise<Group> {
    const config = change(null);
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order) => decideCreate(seen, config, order));
    return viewOf(act.groupId, await this.#act(group, rule));
  }

  async update({ change, ...act }: ParsedGroup): Promise<Group> {
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order) => decideUpdate(seen, change, order));
    return viewOf(act.groupId, await this.#actOnExisting(group, rule));
  }

  async remove({ force, ...act }: Act & { readonly force: boolean }): Promise<void> {
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order, now) =>
      decideDelete(seen, force, order, stampOf(now, act.by)),
    );
    await this.#actOnExisting(
      group,
      onOneTerm(rule, ({ deleted }) => deleted),
    );
  }

  async stepDown({ stepDown, ...act }: Act & { readonly stepDown: StepDown }): Promise<void> {
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order, now) =>
      decideStepDown(seen, stepDown, order, stampOf(now, act.by)),
    );
    // A ban only gets shorter by itself, so an older ban is no evidence of this one.
    const isDone = (now: ElectionRecord, then: ElectionRecord) =>
      isSteppedDown(now, then, act.by, stepDown) &&
      (stepDown.banMs === 0 || banMs(now, then.holder?.nodeId) > banMs(then, then.holder?.nodeId));
    await this.#actOnExisting(group, onOneTerm(rule, isDone));
  }

  async pause({ pause, ...act }: Act & { readonly pause: Pause }): Promise<void> {
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order) => decidePause(seen, pause, order));
    await this.#actOnExisting(group, rule);
  }

  async resume(act: Act): Promise<void> {
    const group = this.#engine.obtain(act.groupId);
    const rule = ordered(group, act, (seen, order) => decideResume(seen, order));
    await this.#actOnExisting(group, rule);
  }

  /** Sets the mark, then waits until the successor leads or can no longer win. */
  transfer(
    { transfer, ...act }: Act & { readonly transfer: Transfer },
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<Leader> {
    return this.#engine.with(act.groupId, (group) => this.#transfer(group, act, transfer, signals));
  }

  async #transfer(
    group: GroupState,
    act: Act,
    transfer: Transfer,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<Leader> {
    const wakeup = new Wakeup(signals);
    wakeup.listenTo((wake) => group.listen(wake));
    const absent = new Set<string>();
    try {
      for (;;) {
        // Looking for a successor counts towards the limit of the transfer.
        const timeoutMs = Math.max(1, transfer.timeoutMs - absent.size * FOUND_MS);
        const leader = await this.#handOver(group, act, { ...transfer, timeoutMs }, absent, wakeup);
        if (leader !== null) return leader;
      }
    } finally {
      wakeup.remove();
    }
  }

  /** One transfer. `null`: the elector chose a successor that waits nowhere; that node is added to `absent`. */
  async #handOver(
    group: GroupState,
    act: Act,
    transfer: Transfer,
    absent: Set<string>,
    wakeup: Wakeup,
  ): Promise<Leader | null> {
    /** The successor is to lead the term after this one. */
    let fromTerm = 0;
    let { toNodeId } = transfer;
    const rule = ordered(group, act, (seen, order) => {
      const successors = successorsOf(group, this.#engine.members, absent);
      const decision = decideTransfer(seen, transfer, successors, order);
      // Nothing to do: the successor leads.
      fromTerm = decision.kind === "unchanged" ? seen.record.term - 1 : seen.record.term;
      if (decision.kind === "write") toNodeId = decision.next.transfer?.toNodeId ?? toNodeId;
      return decision;
    });
    const hasYielded = (now: ElectionRecord, then: ElectionRecord) =>
      [...now.events, ...group.history().events].some((event) => isYield(event, then.term, act.by));
    await this.#actOnExisting(group, onOneTerm(rule, hasYielded));
    if (toNodeId === null) throw new Error("a transfer was written without a successor");
    const successor = toNodeId;
    let isOverdue = false;
    const isChosen = transfer.toNodeId === null;
    const cancel = this.#engine.after(isChosen ? FOUND_MS : transfer.timeoutMs, () => (isOverdue = isChosen));
    try {
      for (;;) {
        const progress = await this.#engine.transact(group, (seen) => ({
          kind: "stay",
          value: transferProgress(seen, successor, fromTerm, () => group.history().events),
        }));
        if (progress.kind !== "pending") {
          // What this server has seen may be outdated: another server may have carried over more of the mark.
          const leader = await this.#settleTransfer(group, successor, act.by, fromTerm);
          if (leader !== null) return leader;
        } else if (isOverdue && !progress.ready) {
          if (!(await this.#withdraw(group, successor, act.by))) continue;
          absent.add(successor);
          return null;
        } else {
          await this.#waitAtMost(wakeup, isChosen ? Math.min(progress.leftMs, FOUND_MS) : progress.leftMs);
        }
      }
    } finally {
      cancel();
    }
  }

  /** Takes back a transfer whose successor no server has seen waiting; false if it is too late for that. */
  #withdraw(group: GroupState, toNodeId: string, by: string): Promise<boolean> {
    return this.#engine.transact<boolean>(group, (seen) => {
      const change = seen.record.transfer?.ready === false ? withoutTransfer(seen, toNodeId, by) : null;
      return change === null
        ? { kind: "answer", give: () => false }
        : { kind: "write", change, written: () => true };
    });
  }

  /** A vacancy that the act creates is filled in the same write. */
  #act(group: GroupState, rule: Rule): Promise<Acted> {
    return this.#engine.transact(group, this.#acting(group, rule));
  }

  #actOnExisting(group: GroupState, rule: Rule): Promise<Acted> {
    return this.#engine.transact(group, this.#engine.existing(group, this.#acting(group, rule)));
  }

  #acting(group: GroupState, rule: Rule): Decide<Acted> {
    return (seen, now, uncertain): Step<Acted> => {
      const decision = rule(seen, now, uncertain);
      switch (decision.kind) {
        case "write": {
          const written = (record: ElectionRecord): Acted => ({ record, at: now });
          if (decision.next.holder !== null || decision.next.deleted) {
            return { kind: "write", change: decision, written };
          }
          return this.#campaigns.fill(group, now, decision, written);
        }
        case "unchanged": {
          const record = carryOver(seen.record, seen.ageMs);
          return { kind: "answer", give: () => ({ record, at: now }) };
        }
        case "not-found":
          return { kind: "answer", give: () => refuseUnknown(group.groupId) };
        case "conflict":
          return { kind: "answer", give: () => refuse(group.groupId, decision.problem, uncertain) };
      }
    };
  }

  async #waitAtMost(wakeup: Wakeup, limitMs: number): Promise<void> {
    let cancel = (): void => {};
    const over = new Promise<void>((resolve) => {
      cancel = this.#engine.after(limitMs, resolve);
    });
    await Promise.race([wakeup.wait(), over]).finally(cancel);
  }

  /** `null`: the mark still stands. */
  #settleTransfer(group: GroupState, toNodeId: string, by: string, fromTerm: number): Promise<Leader | null> {
    return this.#engine.transact<Leader | null>(group, (seen, now) => {
      const progress = transferProgress(seen, toNodeId, fromTerm, () => group.history().events);
      switch (progress.kind) {
        case "pending":
          return { kind: "answer", give: () => null };
        case "done":
          return { kind: "answer", give: () => successorView(seen, now.wallMs, toNodeId, fromTerm + 1) };
        case "unknown": {
          const give = () => {
            throw new BackendUnavailableError(progress.problem);
          };
          return { kind: "answer", give };
        }
        case "failed": {
          const fail = () => {
            throw new ConflictError(progress.problem);
          };
          const change = withoutTransfer(seen, toNodeId, by);
          return change === null ? { kind: "answer", give: fail } : { kind: "write", change, written: fail };
        }
      }
    });
  }
}

/** What is left of the ban of a node; 0: it is not banned. */
function banMs({ bans }: ElectionRecord, nodeId: string | undefined): number {
  return bans.find((ban) => ban.nodeId === nodeId)?.leftMs ?? 0;
}

function viewOf(groupId: string, { record, at }: Acted): Group {
  return groupView(groupId, { record, ageMs: 0 }, at.wallMs);
}

/**
 * An act in the name of an operator. If it is decided again after a lost answer and the record shows it, it has happened:
 * no act is carried out or listed twice.
 */
function ordered(
  group: GroupState,
  { by, reason }: Act,
  rule: (seen: Observation, order: Order, now: Reading) => OperatorDecision,
): Rule {
  let order: Order | null = null;
  let sent: OperatorAct | null = null;
  return (seen, now, uncertain) => {
    order ??= { by, reason, tsMs: Math.round(now.wallMs) };
    // The act of another request with the same name, time, number and content has had the same effect.
    if (uncertain && sent !== null && isSameAct(sent, actOf(group, sent.number)))
      return { kind: "unchanged" };
    const known = withLastAct(group, seen);
    const decision = rule(known, order, now);
    // A write that changes nothing for people, such as an update to the same values, adds no act.
    if (decision.kind === "write") sent = decision.next.act === known.record.act ? null : decision.next.act;
    return decision;
  };
}

/**
 * A version that does not know acts drops the last one from each record that it writes. The history still has it: the next act takes
 * the number after it, so that it replaces none.
 */
function withLastAct(group: GroupState, seen: Observation): Observation {
  if ((seen.record.act?.number ?? 0) >= group.historyActNumber) return seen;
  return { ...seen, record: { ...seen.record, act: group.history().acts.at(-1) ?? null } };
}

function actOf(group: GroupState, number: number): OperatorAct | null {
  const { act } = group.record;
  if (act?.number === number) return act;
  return group.history().acts.find((each) => each.number === number) ?? null;
}

/**
 * For an act on the current leader: decided again after a lost answer, it must not hit the next leader. `isDone`
 * determines from the current record, and from the record that the act was decided on, whether the act has happened.
 */
function onOneTerm(rule: Rule, isDone: (now: ElectionRecord, then: ElectionRecord) => boolean): Rule {
  let then: ElectionRecord | null = null;
  return (seen, reading, uncertain) => {
    const now = seen.record;
    if (uncertain && then !== null) {
      if (isDone(now, then)) return { kind: "unchanged" };
      if (now.term !== then.term) return { kind: "conflict", problem: "the leader has changed meanwhile" };
    }
    then = now;
    return rule(seen, reading, uncertain);
  };
}

/**
 * Whether the leader that the step-down was decided on has been deposed. Once the next term has begun, only the event that ended
 * its term is evidence, and only if this step-down must have caused it: an earlier step-down of the same term may have ended
 * it before the request came, on a record that this server had not seen yet, and the operator meant the leader of today.
 */
function isSteppedDown(now: ElectionRecord, then: ElectionRecord, by: string, { force }: StepDown): boolean {
  if (now.term === then.term) return now.holder === null || (!force && now.deposed !== null);
  if (then.deposed?.by === by) return false;
  return now.events.some(
    (event) =>
      event.type === "LEADER_LOST" &&
      event.term === then.term &&
      event.reason === "deposed" &&
      event.by === by,
  );
}

/** Whether the event ended that term because of a transfer by this operator. */
function isYield(event: LeadershipEvent, term: number, by: string): boolean {
  return (
    event.type === "LEADER_LOST" && event.term === term && event.reason === "transferred" && event.by === by
  );
}

/** The successor as the leader of its term. It may have resigned already; then its lease is over as of now. */
function successorView(seen: Observation, wallMs: number, nodeId: string, term: number): Leader {
  const leader = leaderView(seen, wallMs);
  return leader?.nodeId === nodeId && leader.term === term ? leader : { nodeId, term, expiresAtMs: wallMs };
}

/** After an uncertain write, a conflict may be with this request's own write; then the outcome is unknown. */
function refuse(groupId: string, problem: string, uncertain: boolean): never {
  if (uncertain)
    throw new BackendUnavailableError(
      `the store's answer was lost, so the outcome is unknown; read group ${groupId} and retry if needed`,
    );
  throw new ConflictError(`${groupId}: ${problem}`);
}
