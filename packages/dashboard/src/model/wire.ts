/** What the service says, by the names that the page has for it. */
import type { shapes } from "@tenure/api";

export type Group = shapes.GroupShape;
export type Ban = Group["bans"][number];
export type Lease = shapes.Lease;
export type Policy = Group["policy"];
/** Besides a pause: why nobody can win, or nobody but a successor. */
export type HeldBack = NonNullable<Group["held_back"]>;
export type Whoami = shapes.WhoamiReply;
export type Member = shapes.Member;
export type MemberHealth = shapes.MemberHealth;
export type LeadershipEvent = shapes.EventShape;
export type HistoryEvent = shapes.NumberedEvent;
/** What an operator did to a group. */
export type OperatorAct = shapes.ActShape;
export type GroupAct = shapes.GroupActShape;

export interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly acts: readonly OperatorAct[];
}

export interface AuditPage {
  readonly acts: readonly GroupAct[];
  readonly cursor: string | null;
}

export type Finding = shapes.FindingShape;
export type AttentionReply = shapes.AttentionReply;

export type ServerInfo = shapes.ServerReply;

export interface GroupsPage {
  readonly groups: readonly Group[];
  readonly cursor: string | null;
}

export type EndReason = LeadershipEvent["reason"];

/** One moment of the server that was asked. */
export type Sample = shapes.Sample;
export type SamplesReply = shapes.SamplesReply;
