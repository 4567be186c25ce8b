/**
 * A deleted group that nothing uses, as small as it can be kept: the record in the form in which the store has it, and the
 * revisions to compare with. What else a `GroupState` knows of such a group follows from these.
 */
import { decodeRecord, encodeHistory } from "../codec.js";
import { recordedHistory, recordedLength } from "../history.js";
import type { Revision } from "../store/store.js";
import { GroupState } from "./group-state.js";

export class Tombstone {
  readonly #value: string;
  readonly #revision: Revision;
  readonly #historyRevision: Revision | null;

  private constructor(value: string, revision: Revision, historyRevision: Revision | null) {
    this.#value = value;
    this.#revision = revision;
    this.#historyRevision = historyRevision;
  }

  /** `null` if the group is in use, or not a deleted one whose history was cut. */
  static of(group: GroupState): Tombstone | null {
    const { value, revision, historyRevision } = group;
    if (!group.isTombstone || value === null || revision === null) return null;
    return new Tombstone(value, revision, historyRevision);
  }

  /** Its durations are all over, so it does not matter when it was first seen. */
  revive(groupId: string): GroupState {
    const group = new GroupState(groupId);
    const record = decodeRecord(this.#value);
    group.install(record, this.#value, this.#revision, 0);
    group.loggedNumber = record.eventNumber;
    if (this.#historyRevision !== null) {
      group.historyRevision = this.#historyRevision;
      group.historyValue = encodeHistory(recordedHistory(record));
      group.historyNumber = record.eventNumber;
      group.historyActNumber = group.actNumber;
      group.historyLength = recordedLength(record);
    }
    return group;
  }
}
