import type { CampaignResult, Group, LeadershipEvent } from "@tenure/core";
import type { RecordWrite } from "../truth.js";
import type { Check, CheckContext, Listed, Looked, Met, Recalled, WrittenEntry } from "./check.js";
import { INTRUDER } from "../inquirer.js";

/** How long after a deletion a server may come to see it. */
const SEEN_LATE_MS = 2000;

/**
 * S15: what is answered about groups, members and histories is true at some moment between the question and the answer:
 * lists are complete, members are the nodes that were admitted, and a refused request leaves nothing in the store.
 */
export class TrueAnswers implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onEntry({ server, key, value }: WrittenEntry): void {
    const isKnown = this.#context.groups.some(({ groupId }) => groupId === key.slice(2));
    if (!isKnown) this.#context.fail("S15", `${server} writes ${key}, of a group that was not created`);
    if (key.startsWith("m/") && value.includes(INTRUDER))
      this.#context.fail("S15", `${server} writes down the refused ${INTRUDER} in ${key}`);
  }

  onListed({ server, fromMs, toMs, groups }: Listed): void {
    const listed = groups.map(({ groupId }) => groupId);
    if (listed.some((groupId, i) => i > 0 && groupId <= (listed[i - 1] as string)))
      this.#context.fail("S15", `${server} lists ${listed.join(" ")}, out of order`);
    for (const { groupId } of this.#context.groups) {
      const states = this.#states(groupId, fromMs, toMs);
      const isListed = listed.includes(groupId);
      if (isListed && !states.some(isThere))
        this.#context.fail("S15", `${server} lists ${groupId}, which is not there`);
      if (!isListed && states.every(isThere))
        this.#context.fail("S15", `${server} lists ${listed.join(" ")}, and leaves out ${groupId}`);
    }
    for (const group of groups) this.#checkGroup(server, group, fromMs, toMs);
  }

  onLooked({ server, fromMs, toMs, group }: Looked): void {
    this.#checkGroup(server, group, fromMs, toMs);
  }

  onRecalled({ server, groupId, fromMs, toMs, events }: Recalled): void {
    const { events: written } = this.#context.truth(groupId);
    const isWhole = events.every(
      (event, i) => i === 0 || event.number === (events[i - 1] as LeadershipEvent).number + 1,
    );
    const isSame = events.every((event) => {
      const { type, term, reason } = written.get(event.number) ?? {};
      return event.type === type && event.term === term && event.reason === reason;
    });
    const last = events.at(-1)?.number ?? 0;
    const isFresh = this.#states(groupId, fromMs, toMs).some(
      (each) => (each?.record.eventNumber ?? 0) === last,
    );
    if (!isWhole || !isSame || !isFresh)
      this.#context.fail(
        "S15",
        `${server} gives a history of ${groupId} up to ${last} that is not as it was written`,
      );
  }

  onMet({ server, groupId, fromMs, toMs, wanted, members, health }: Met): void {
    // A node that was a member before the group was deleted, as far as this server had seen by then, is not one
    // afterwards.
    const isEmptied = this.#context
      .truth(groupId)
      .writes.some(({ record, atMs }) => record.deleted && atMs > fromMs - SEEN_LATE_MS && atMs <= toMs);
    for (const nodeIds of [members, health]) {
      if (nodeIds.includes(INTRUDER))
        this.#context.fail("S15", `${server} lists the refused ${INTRUDER} as a member of ${groupId}`);
      if (!nodeIds.includes(wanted) && !isEmptied)
        this.#context.fail(
          "S15",
          `${server} took a heartbeat of ${wanted} in ${groupId} and does not list it`,
        );
    }
  }

  onIntruded(server: string, groupId: string, { kind }: CampaignResult): void {
    this.#context.fail("S15", `${server} answers ${kind} to ${INTRUDER} in ${groupId}, which it must refuse`);
  }

  #checkGroup(server: string, group: Group, fromMs: number, toMs: number): void {
    const isTrue = this.#states(group.groupId, fromMs, toMs).some((each) => {
      if (each === null) return false;
      const { record } = each;
      // Of a group a deposed leader is shown, as what holds it back.
      const { holder, deposed } = record;
      return (
        (group.leader?.nodeId ?? null) === (holder?.nodeId ?? null) &&
        (group.heldBack?.by === "deposed") === (holder !== null && deposed !== null) &&
        group.term === record.term &&
        group.explicit === (record.config !== null) &&
        JSON.stringify(group.allowedNodes) === JSON.stringify(record.config?.allowedNodes ?? null) &&
        (record.config === null || group.policy.takeoverDelayMs === record.config.policy.takeoverDelayMs)
      );
    });
    if (!isTrue)
      this.#context.fail("S15", `${server} shows ${group.groupId} as it never was: ${JSON.stringify(group)}`);
  }

  #states(groupId: string, fromMs: number, toMs: number): readonly (RecordWrite | null)[] {
    const { writes } = this.#context.truth(groupId);
    const states = [...this.#context.truth(groupId).between(fromMs, toMs)];
    // Before the first write there was no record; after it that state is past.
    const first = writes[0];
    return states.filter((each) => each !== null || first === undefined || first.atMs >= fromMs);
  }
}

function isThere(write: RecordWrite | null): boolean {
  return write !== null && !write.record.deleted;
}
