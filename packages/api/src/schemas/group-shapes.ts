/** The shapes of groups, their members, and the acts of operators on them. */
import type { GroupPolicy } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import type { Static, TSchema } from "typebox";
import { Type } from "./type.js";
import {
  closed,
  heldBackForMs,
  highestTerm,
  id,
  ID,
  Lease,
  metadata,
  orNull,
  word,
} from "./common-shapes.js";

const retryNamed = { title: "Retry" } as const;
const policyNamed = { title: "Policy" } as const;

const Retry = Type.Object(
  {
    initial_ms: Type.Optional(Type.Integer({ description: "The first delay between two campaigns." })),
    max_ms: Type.Optional(Type.Integer({ description: "The longest delay between two campaigns." })),
    jitter: Type.Optional(
      Type.Number({ description: "0 to 1: the share of the delay that is drawn at random." }),
    ),
  },
  { ...closed, ...retryNamed },
);

export const PolicyShape = Type.Object(
  {
    min_ttl_ms: Type.Optional(Type.Integer({ description: "The shortest lease allowed." })),
    max_ttl_ms: Type.Optional(Type.Integer({ description: "The longest lease allowed." })),
    takeover_delay_ms: Type.Optional(
      Type.Integer({ description: "How long a group stays without a leader after a lease has expired." }),
    ),
    strategy: Type.Optional(Type.Enum(["first", "priority"])),
    preempt: Type.Optional(
      Type.Boolean({
        description: "The leader is asked to hand over to a waiting candidate of higher priority.",
      }),
    ),
    retry: Type.Optional(Retry),
  },
  { ...closed, ...policyNamed },
);

const allowedNodes = <T extends TSchema>(nodeId: T, options: { maxItems?: number } = {}) =>
  orNull(
    Type.Array(nodeId, {
      title: "AllowedNodes",
      description:
        "The nodes that may win. Without this list every node may win; an empty list allows no node. A change of a group without this list keeps the list.",
      ...options,
    }),
  );
const givenNodes = () => allowedNodes(id(), { maxItems: LIMITS.allowedNodes });

/** The reason that an admin gives for an act. */
const reason = () =>
  Type.String({
    minLength: 1,
    maxLength: LIMITS.reasonLength,
    description: "Why; shown in the history of the group and in the audit log.",
  });

export const GroupBody = Type.Object(
  {
    group_id: id(),
    policy: Type.Optional(PolicyShape),
    allowed_nodes: Type.Optional(givenNodes()),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const GroupPatch = Type.Object(
  {
    policy: Type.Optional(PolicyShape),
    allowed_nodes: Type.Optional(givenNodes()),
    reason: Type.Optional(reason()),
  },
  closed,
);

const sinceMs = () => Type.Integer({ description: "Milliseconds since 1970." });

export const GroupShape = Type.Object(
  {
    group_id: Type.String(),
    policy: Type.Object(
      {
        min_ttl_ms: Type.Integer(),
        max_ttl_ms: Type.Integer(),
        takeover_delay_ms: Type.Integer(),
        strategy: word<GroupPolicy["strategy"]>(),
        preempt: Type.Boolean(),
        retry: Type.Object(
          { initial_ms: Type.Integer(), max_ms: Type.Integer(), jitter: Type.Number() },
          retryNamed,
        ),
      },
      policyNamed,
    ),
    allowed_nodes: allowedNodes(Type.String()),
    explicit: Type.Boolean({ description: "The group was created, not only used." }),
    leader: orNull(Lease),
    lease_ttl_ms: Type.Optional(
      Type.Integer({ description: "Duration of the lease that the leader requested in its last renewal." }),
    ),
    term: highestTerm(),
    paused: Type.Boolean(),
    paused_for_ms: Type.Optional(
      Type.Integer({ description: "How much longer the group is paused. Absent: until resumed." }),
    ),
    held_back: Type.Optional(
      Type.Enum(["deposed", "reserved", "takeover_delay"], {
        description: "Why the group is held back, other than by a pause.",
      }),
    ),
    held_back_for_ms: Type.Optional(heldBackForMs()),
    pause: orNull(
      Type.Object(
        { by: Type.String(), reason: orNull(Type.String()), since_ms: sinceMs() },
        { title: "Pause", description: "Who paused the group, and why." },
      ),
    ),
    bans: Type.Array(
      Type.Object(
        {
          node_id: Type.String(),
          for_ms: Type.Integer({ description: "How much longer the node may not win." }),
          by: orNull(Type.String()),
          reason: orNull(Type.String()),
        },
        { title: "Ban" },
      ),
    ),
  },
  { title: "Group" },
);

const groupsLimit = `Groups on a page: 1 to ${LIMITS.groupsPage}, default 100.`;

export const GroupsQuery = Type.Object(
  {
    prefix: Type.Optional(Type.String()),
    limit: Type.Optional(Type.String({ description: groupsLimit })),
    cursor: Type.Optional(Type.String({ description: "The cursor of the previous page." })),
  },
  closed,
);

export const GroupsRequest = Type.Object(
  {
    ...GroupsQuery.properties,
    limit: Type.Optional(Type.Integer({ minimum: 0, description: groupsLimit })),
  },
  closed,
);

export const GroupsReply = Type.Object({
  groups: Type.Array(GroupShape),
  cursor: orNull(Type.String({ description: "Cursor of the next page, if there is one." })),
});

const forced = { description: "Delete the group although it has a leader." } as const;

export const DeleteQuery = Type.Object(
  { force: Type.Optional(Type.Enum(["true", "false"], forced)), reason: Type.Optional(reason()) },
  closed,
);
export const DeleteRequest = Type.Object(
  { force: Type.Optional(Type.Boolean(forced)), reason: Type.Optional(reason()) },
  closed,
);

export const HeartbeatBody = Type.Object(
  {
    node_id: id(),
    metadata: Type.Optional(metadata()),
    ready: Type.Optional(Type.Boolean({ description: "Absent: the last value of this node." })),
  },
  closed,
);

export const Member = Type.Object(
  {
    node_id: Type.String(),
    role: Type.Enum(["leader", "candidate", "observer"]),
    ready: Type.Boolean({ description: "Whether the node can work as soon as it leads; its last value." }),
    last_heartbeat_ms: sinceMs(),
    metadata: Type.Optional(metadata()),
  },
  { title: "Member" },
);

export const MembersReply = Type.Object({ members: Type.Array(Member) });

export const MemberHealth = Type.Object(
  {
    ...Member.properties,
    state: Type.Enum(["healthy", "suspect", "down"]),
    reason: Type.String({ description: "Why the member is in this state." }),
    since_ms: sinceMs(),
  },
  { title: "MemberHealth" },
);

export const MemberHealthReply = Type.Object({ members: Type.Array(MemberHealth) });

export const StepDownBody = Type.Object(
  {
    reason: reason(),
    ban_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.banMs,
        description: "How long the leader may not win again.",
      }),
    ),
    force: Type.Optional(
      Type.Boolean({ description: "End the lease at once, although the leader may not know it yet." }),
    ),
  },
  closed,
);

export const TransferBody = Type.Object(
  {
    to_node_id: Type.Optional(
      Type.String({ ...ID, description: "The successor. Absent: the best ready candidate that waits." }),
    ),
    allow_cold: Type.Optional(Type.Boolean({ description: "Allow a successor that is not ready." })),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.transferMs,
        description: "Default 10000. After a timeout nothing has changed.",
      }),
    ),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const TransferReply = Type.Object({ ok: Type.Literal(true), leader: Lease });

export const PauseBody = Type.Object(
  {
    for_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.pauseMs,
        description: "How long to pause. Absent: until resumed.",
      }),
    ),
    create: Type.Optional(
      Type.Boolean({ description: "Create the group if it does not exist, instead of GROUP_NOT_FOUND." }),
    ),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const ResumeBody = Type.Object({ reason: Type.Optional(reason()) }, closed);

export type GroupBody = Static<typeof GroupBody>;
export type GroupPatch = Static<typeof GroupPatch>;
export type GroupShape = Static<typeof GroupShape>;
export type Member = Static<typeof Member>;
export type MemberHealth = Static<typeof MemberHealth>;
export type TransferBody = Static<typeof TransferBody>;
