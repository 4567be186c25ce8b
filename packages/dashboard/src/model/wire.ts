/** What the service says, by the names that the page has for it. */
import type { shapes } from "@tenure/api";

export type Group = shapes.GroupShape;
export type Lease = shapes.Lease;
export type Policy = Group["policy"];
/** Besides a pause: why nobody can win, or nobody but a successor. */
export type HeldBack = NonNullable<Group["held_back"]>;
export type Whoami = shapes.WhoamiReply;
export type Member = shapes.Member;
export type LeadershipEvent = shapes.EventShape;
export type HistoryEvent = shapes.NumberedEvent;

export interface GroupsPage {
  readonly groups: readonly Group[];
  readonly cursor: string | null;
}

export type EndReason = LeadershipEvent["reason"];
