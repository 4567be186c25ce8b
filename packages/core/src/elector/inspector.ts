import type { Group, Member } from "../elector-admin.js";
import type { LeadershipEvent } from "../event.js";
import type { Engine } from "./engine.js";
import type { GroupState } from "./group-state.js";
import { groupView, memberView } from "./views.js";

/** What a process knows of a group at one moment. */
export interface InspectedGroup {
  readonly group: Group;
  readonly members: readonly Member[];
  /** The last events, oldest first. Decoded on each call. */
  events(): readonly LeadershipEvent[];
}

/**
 * Shows groups as this process knows them at this moment, without asking the store. For monitoring, which looks at every group
 * again and again; nothing may be decided by it.
 */
export class Inspector {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** `null`: no such group, or its record cannot be read. */
  group(groupId: string): InspectedGroup | null {
    const group = this.#engine.groups.get(groupId);
    return group === undefined ? null : this.#inspect(group);
  }

  /** The groups among the next `count` ids after `place`, and the last of these ids; `null`: there are no more. */
  after(
    place: string,
    count: number,
  ): { readonly groups: readonly InspectedGroup[]; readonly last: string | null } {
    const found = this.#engine.groups.from(place, false, count);
    return {
      groups: found.map((group) => this.#inspect(group)).filter((each) => each !== null),
      last: found.at(-1)?.groupId ?? null,
    };
  }

  #inspect(state: GroupState): InspectedGroup | null {
    const { groupId, record, revision, isUnreadable } = state;
    if (revision === null || isUnreadable || record.deleted) return null;
    const now = this.#engine.now();
    return {
      group: groupView(groupId, state.observation(now), now.wallMs),
      members: this.#engine.members?.members(groupId).map((seen) => memberView(seen, record)) ?? [],
      events: () => state.wholeHistory().events,
    };
  }
}
