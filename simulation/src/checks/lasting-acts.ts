import type { Act } from "../acts.js";
import type { RecordWrite } from "../truth.js";
import { type Check, type CheckContext, hasConfig } from "./check.js";

interface SentAct {
  readonly act: Act;
  readonly atMs: number;
}

/** No request, however late or duplicated, is carried out later than this. */
const LATEST_MS = 6000;

/**
 * S17: what an operator has done lasts. A pause ends by its time, by a resume or with the group; a policy and the
 * allowed nodes change only to what an operator asked for. No renewal, election or repair undoes any of it.
 */
export class LastingActs implements Check {
  readonly #context: CheckContext;
  /** Per group. */
  readonly #sent = new Map<string, SentAct[]>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onActSent(act: Act): void {
    const { groupId } = act.request;
    const atMs = this.#context.nowMs();
    const known = (this.#sent.get(groupId) ?? []).filter((each) => atMs - each.atMs < LATEST_MS);
    this.#sent.set(groupId, [...known, { act, atMs }]);
  }

  onWrite(write: RecordWrite): void {
    if (write.previous === null || write.record.deleted) return;
    this.#checkPause(write, write.previous);
    this.#checkConfig(write, write.previous);
  }

  #checkPause(
    { groupId, record, atMs, server }: RecordWrite,
    { record: before, atMs: sinceMs }: RecordWrite,
  ) {
    const { pause } = before;
    if (pause === null || record.pause !== null) return;
    const { driftRatio, decidedBeforeMs } = this.#context;
    const isOver =
      pause.leftMs !== null && atMs >= sinceMs + pause.leftMs / (1 + driftRatio) - decidedBeforeMs;
    if (!isOver && !this.#isAsked(groupId, ({ verb }) => verb === "resume"))
      this.#context.fail("S17", `${server} ends the pause of ${groupId}, which no operator resumed`);
  }

  #checkConfig(write: RecordWrite, { record: before }: RecordWrite): void {
    const { groupId, record, server } = write;
    if (before.config === null || JSON.stringify(record.config) === JSON.stringify(before.config)) return;
    const isAsked = this.#isAsked(
      groupId,
      (act) => (act.verb === "create" || act.verb === "update") && hasConfig(write, act.request),
    );
    if (!isAsked)
      this.#context.fail(
        "S17",
        `${server} changes the policy of ${groupId} to ${JSON.stringify(record.config)}, which no operator asked for`,
      );
  }

  #isAsked(groupId: string, matches: (act: Act) => boolean): boolean {
    const nowMs = this.#context.nowMs();
    const sent = this.#sent.get(groupId) ?? [];
    return sent.some(({ act, atMs }) => nowMs - atMs < LATEST_MS && matches(act));
  }
}
