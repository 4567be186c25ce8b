import { GroupState } from "./group-state.js";
import { SortedIds } from "./sorted-ids.js";
import { Tombstone } from "./tombstone.js";

/**
 * The groups that this process knows or works on, by id and in order of their ids. Deleted groups that nothing uses are
 * kept as tombstones. A read sees such a group as any other; to change it, `obtain` it.
 */
export class GroupTable {
  readonly #groups = new Map<string, GroupState | Tombstone>();
  readonly #ids = new SortedIds();

  get size(): number {
    return this.#groups.size;
  }

  get(groupId: string): GroupState | undefined {
    const group = this.#groups.get(groupId);
    return group === undefined ? undefined : asState(groupId, group);
  }

  obtain(groupId: string): GroupState {
    const known = this.#groups.get(groupId);
    if (known instanceof GroupState) return known;
    let group: GroupState;
    if (known === undefined) {
      group = new GroupState(groupId);
      this.#ids.add(groupId);
    } else {
      group = known.revive(groupId);
    }
    this.#groups.set(groupId, group);
    return group;
  }

  /** Releases the memory of a group that is no longer used, as far as possible. */
  forget(group: GroupState): void {
    const { groupId } = group;
    // Nearly every group stays: then the table need not be asked, which after each renewal would cost a cache miss.
    if (!group.isForgettable && !group.record.deleted) return;
    if (this.#groups.get(groupId) !== group) return;
    if (group.isForgettable) {
      this.#groups.delete(groupId);
      this.#ids.delete(groupId);
      return;
    }
    const tombstone = Tombstone.of(group);
    if (tombstone !== null) this.#groups.set(groupId, tombstone);
  }

  *values(): IterableIterator<GroupState> {
    for (const [groupId, group] of this.#groups) yield asState(groupId, group);
  }

  /** The first `count` groups in order after `place`, or from it on. Costs what it returns, not what there is. */
  from(place: string, inclusive: boolean, count: number): readonly GroupState[] {
    return this.#ids
      .from(place, inclusive, count)
      .map((groupId) => asState(groupId, this.#groups.get(groupId) as GroupState | Tombstone));
  }
}

function asState(groupId: string, group: GroupState | Tombstone): GroupState {
  return group instanceof GroupState ? group : group.revive(groupId);
}
