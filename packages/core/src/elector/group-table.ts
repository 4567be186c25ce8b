import { GroupState } from "./group-state.js";
import { SortedIds } from "./sorted-ids.js";

/** The groups that this process knows or works on, by id and in order of their ids. */
export class GroupTable {
  readonly #groups = new Map<string, GroupState>();
  readonly #ids = new SortedIds();

  get size(): number {
    return this.#groups.size;
  }

  get(groupId: string): GroupState | undefined {
    return this.#groups.get(groupId);
  }

  obtain(groupId: string): GroupState {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = new GroupState(groupId);
      this.#groups.set(groupId, group);
      this.#ids.add(groupId);
    }
    return group;
  }

  delete(groupId: string): void {
    this.#groups.delete(groupId);
    this.#ids.delete(groupId);
  }

  values(): IterableIterator<GroupState> {
    return this.#groups.values();
  }

  /** The first `count` groups in order after `place`, or from it on. Costs what it returns, not what there is. */
  from(place: string, inclusive: boolean, count: number): readonly GroupState[] {
    return this.#ids.from(place, inclusive, count).map((groupId) => this.#groups.get(groupId) as GroupState);
  }
}
