/** Groups as an inspector shows them. */
import { DEFAULT_POLICY, type Group, type LeadershipEvent, type Member } from "@tenure/core";
import type { InspectedGroup } from "@tenure/core/internal";

export function inspected(
  group: Partial<Group> & Pick<Group, "groupId">,
  members: readonly Member[] = [],
  events: readonly LeadershipEvent[] = [],
): InspectedGroup {
  return {
    group: {
      explicit: false,
      policy: DEFAULT_POLICY,
      allowedNodes: null,
      leader: null,
      leaseTtlMs: null,
      term: 0,
      pausedForMs: null,
      heldBack: null,
      pause: null,
      bans: [],
      ...group,
    },
    members,
    events: () => events,
  };
}
