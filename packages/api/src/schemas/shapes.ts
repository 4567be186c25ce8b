/**
 * Every shape that crosses the wire, once: it validates what comes in, serializes what goes out and is the OpenAPI
 * document. Unknown keys and wrong types are refused; nothing is coerced. Bounds that depend on a group's policy are
 * the elector's to check.
 */
import type { EndReason, GroupPolicy } from "@tenure/core";
import { ID_PATTERN, LIMITS } from "@tenure/core/internal";
import { type Static, type TSchema, Type } from "typebox";

export const closed = { additionalProperties: false } as const;
const ID = { minLength: 1, maxLength: LIMITS.idLength, pattern: ID_PATTERN } as const;
export const id = () => Type.String(ID);
/** No bounds: whatever is outside of them is told those of the group's policy. */
const ttlMs = () =>
  Type.Integer({
    description: "Duration of the lease, from min_ttl_ms to max_ttl_ms of the group's policy.",
  });
/** Not a union: those are told apart at run time, on the way of every answer. */
export const orNull = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, nullable: true });
/** Any text on the wire, so that a new word breaks no client; in TypeScript one of those that there are. */
const word = <W extends string>(options: { description?: string } = {}) =>
  Type.Unsafe<W>(Type.String(options));
const endReason = (options?: { description?: string }) => word<EndReason | "none">(options);
const metadata = () =>
  Type.Record(Type.String(), Type.Unknown(), {
    description: `JSON object of at most ${LIMITS.metadataBytes} bytes.`,
  });

export const GroupParams = Type.Object({ group_id: id() }, closed);

/** Of a route that takes no query: what is misspelt or misplaced is refused there too. */
export const NoQuery = Type.Object({}, closed);

export const CampaignBody = Type.Object(
  {
    node_id: id(),
    lease_ttl_ms: ttlMs(),
    metadata: Type.Optional(metadata()),
    instance_start_uuid: Type.Optional(id()),
    priority: Type.Optional(Type.Integer({ minimum: -LIMITS.priority, maximum: LIMITS.priority })),
    ready: Type.Optional(
      Type.Boolean({
        description:
          "Whether the node can work as soon as it leads. Ready candidates are elected first, and no leader is asked to hand over to a node that is not ready. Default true.",
      }),
    ),
    wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.waitMs })),
  },
  closed,
);

const { wait_ms: _waitMs, ...campaignAtOnce } = CampaignBody.properties;

export const CampaignManyBody = Type.Object(
  {
    campaigns: Type.Array(Type.Object({ group_id: id(), ...campaignAtOnce }, closed), {
      minItems: 1,
      maxItems: LIMITS.renewMany,
      description: "At most one campaign per group. These campaigns do not wait.",
    }),
  },
  closed,
);

export const Lease = Type.Object({
  node_id: Type.String(),
  term: Type.Integer(),
  lease_expires_at_ms: Type.Integer(),
});

/** What the leader says of itself comes along for who asks for it, by `Prefer: leader-metadata`. */
export const FullLease = Type.Object({ ...Lease.properties, metadata: Type.Optional(metadata()) });

export const CampaignReply = Type.Object({
  is_leader: Type.Boolean(),
  leader: orNull(FullLease),
  confirmed: Type.Optional(Type.Boolean({ description: "The caller already leads and keeps its term." })),
  retry_after_ms: Type.Optional(
    Type.Integer({ description: "After a lost campaign: how long to wait before the next one." }),
  ),
  held_back: Type.Optional(Type.String({ description: "Why a group without a leader is held back." })),
  held_back_for_ms: Type.Optional(
    Type.Integer({ description: "How much longer the group is held back. Absent: until an operator acts." }),
  ),
  token: Type.Optional(Type.String({ description: "Signed mandate, if the service has a signing key." })),
  reason: Type.Optional(
    endReason({ description: "After a won campaign: how the previous term ended, as in events." }),
  ),
  waited_ms: Type.Optional(
    Type.Integer({ description: "After a won campaign with wait_ms: how long it waited." }),
  ),
  transfer_to: Type.Optional(Type.String()),
});

export const RenewBody = Type.Object(
  {
    node_id: id(),
    term: Type.Integer({ minimum: 1 }),
    extend_by_ms: ttlMs(),
    instance_start_uuid: Type.Optional(id()),
  },
  closed,
);

export const RenewReply = Type.Object({
  ok: Type.Literal(true),
  leader: FullLease,
  token: Type.Optional(Type.String()),
  transfer_to: Type.Optional(
    Type.String({ description: "The node that waits to take over. Finish the work, then resign." }),
  ),
});

export const RenewManyBody = Type.Object(
  {
    renewals: Type.Array(Type.Object({ group_id: id(), ...RenewBody.properties }, closed), {
      maxItems: LIMITS.renewMany,
    }),
  },
  closed,
);

export const ErrorReply = Type.Object({
  ok: Type.Literal(false),
  error: Type.String(),
  message: Type.String(),
  current_leader: Type.Optional(orNull(Type.Object({ node_id: Type.String(), term: Type.Integer() }))),
  field: Type.Optional(Type.String()),
  problem: Type.Optional(Type.String({ description: "Of INVALID_REQUEST: what is wrong with the field." })),
  min_ttl_ms: Type.Optional(Type.Integer()),
  max_ttl_ms: Type.Optional(Type.Integer()),
});

export const CampaignManyReply = Type.Object({
  results: Type.Array(
    Type.Object({
      group_id: Type.String(),
      ...Type.Partial(ErrorReply).properties,
      ...Type.Partial(CampaignReply).properties,
    }),
  ),
});

export const RenewManyReply = Type.Object({
  results: Type.Array(
    Type.Object({
      group_id: Type.String(),
      ...Type.Partial(ErrorReply).properties,
      ...Type.Partial(RenewReply).properties,
      ok: Type.Boolean(),
    }),
  ),
});

export const ResignBody = Type.Object(
  { node_id: id(), term: Type.Integer({ minimum: 1 }), instance_start_uuid: Type.Optional(id()) },
  closed,
);

export const OkReply = Type.Object({ ok: Type.Literal(true) });

export const LeaderQuery = Type.Object(
  { consistency: Type.Optional(Type.Enum(["linearizable", "local"])) },
  closed,
);

export const LeaderReply = Type.Object({
  leader: orNull(Type.Object({ ...Lease.properties, metadata: metadata() })),
  term: Type.Integer(),
  held_back: Type.Optional(
    Type.Enum(["paused", "deposed", "reserved", "takeover_delay"], {
      description: "Why a group without a leader is held back.",
    }),
  ),
  held_back_for_ms: Type.Optional(
    Type.Integer({ description: "How much longer the group is held back. Absent: until an operator acts." }),
  ),
  age_ms: Type.Optional(Type.Integer()),
});

export const EventShape = Type.Object({
  type: Type.Enum(["LEADER_CHANGED", "LEADER_LOST", "RESYNC"]),
  group_id: Type.String(),
  term: Type.Integer(),
  leader_node_id: orNull(Type.String()),
  ts_ms: Type.Integer(),
  previous_leader_node_id: orNull(Type.String()),
  reason: endReason(),
  by: Type.Optional(Type.String()),
});

/** What resumes each of many watches, besides its group. */
const number = () =>
  Type.Integer({
    description: "Number of the event in its group, from 1 without gaps; the cursor of a watch.",
  });

export const EventsReply = Type.Object({ events: Type.Array(EventShape), cursor: Type.String() });

const Retry = Type.Object(
  {
    initial_ms: Type.Optional(Type.Integer()),
    max_ms: Type.Optional(Type.Integer()),
    jitter: Type.Optional(Type.Number()),
  },
  closed,
);

export const PolicyShape = Type.Object(
  {
    min_ttl_ms: Type.Optional(Type.Integer()),
    max_ttl_ms: Type.Optional(Type.Integer()),
    takeover_delay_ms: Type.Optional(Type.Integer()),
    strategy: Type.Optional(Type.Enum(["first", "priority"])),
    preempt: Type.Optional(Type.Boolean()),
    retry: Type.Optional(Retry),
  },
  closed,
);

const allowedNodes = () => orNull(Type.Array(id(), { maxItems: LIMITS.allowedNodes }));

export const GroupBody = Type.Object(
  { group_id: id(), policy: Type.Optional(PolicyShape), allowed_nodes: Type.Optional(allowedNodes()) },
  closed,
);

/** Why an admin acts; it goes to the audit log. */
const reason = () =>
  Type.String({ minLength: 1, maxLength: LIMITS.reasonLength, description: "Reason for the audit log." });

export const GroupPatch = Type.Object(
  {
    policy: Type.Optional(PolicyShape),
    allowed_nodes: Type.Optional(allowedNodes()),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const GroupShape = Type.Object({
  group_id: Type.String(),
  policy: Type.Object({
    min_ttl_ms: Type.Integer(),
    max_ttl_ms: Type.Integer(),
    takeover_delay_ms: Type.Integer(),
    strategy: word<GroupPolicy["strategy"]>(),
    preempt: Type.Boolean(),
    retry: Type.Object({ initial_ms: Type.Integer(), max_ms: Type.Integer(), jitter: Type.Number() }),
  }),
  allowed_nodes: orNull(Type.Array(Type.String())),
  explicit: Type.Boolean(),
  leader: orNull(Lease),
  lease_ttl_ms: Type.Optional(
    Type.Integer({ description: "Duration of the lease that the leader requested in its last renewal." }),
  ),
  term: Type.Integer(),
  paused: Type.Boolean(),
  paused_for_ms: Type.Optional(
    Type.Integer({ description: "How much longer the group is paused. Absent: until resumed." }),
  ),
  held_back: Type.Optional(
    Type.Enum(["deposed", "reserved", "takeover_delay"], {
      description: "Why the group is held back, other than by a pause.",
    }),
  ),
  held_back_for_ms: Type.Optional(Type.Integer()),
});

export const GroupsQuery = Type.Object(
  {
    prefix: Type.Optional(Type.String()),
    limit: Type.Optional(Type.String()),
    cursor: Type.Optional(Type.String()),
  },
  closed,
);

export const GroupsRequest = Type.Object(
  { ...GroupsQuery.properties, limit: Type.Optional(Type.Integer({ minimum: 0 })) },
  closed,
);

export const GroupsReply = Type.Object({ groups: Type.Array(GroupShape), cursor: orNull(Type.String()) });

export const DeleteQuery = Type.Object({ force: Type.Optional(Type.Enum(["true", "false"])) }, closed);
export const DeleteRequest = Type.Object({ force: Type.Optional(Type.Boolean()) }, closed);

export const HeartbeatBody = Type.Object(
  {
    node_id: id(),
    metadata: Type.Optional(metadata()),
    ready: Type.Optional(Type.Boolean({ description: "Absent: the last value of this node." })),
  },
  closed,
);

export const Member = Type.Object({
  node_id: Type.String(),
  role: Type.Enum(["leader", "candidate", "observer"]),
  ready: Type.Boolean({ description: "Whether the node can work as soon as it leads; its last value." }),
  last_heartbeat_ms: Type.Integer(),
  metadata: Type.Optional(metadata()),
});

export const MembersReply = Type.Object({ members: Type.Array(Member) });

export const MemberHealth = Type.Object({
  ...Member.properties,
  state: Type.Enum(["healthy", "suspect", "down"]),
  reason: Type.String(),
  since_ms: Type.Integer(),
});

export const MemberHealthReply = Type.Object({ members: Type.Array(MemberHealth) });

export const StepDownBody = Type.Object(
  {
    reason: reason(),
    ban_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.banMs })),
    force: Type.Optional(Type.Boolean()),
  },
  closed,
);

export const TransferBody = Type.Object(
  {
    to_node_id: Type.Optional(
      Type.String({ ...ID, description: "The successor. Absent: the best ready candidate that waits." }),
    ),
    allow_cold: Type.Optional(Type.Boolean({ description: "Allow a successor that is not ready." })),
    timeout_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.transferMs })),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const TransferReply = Type.Object({ ok: Type.Literal(true), leader: Lease });

export const PauseBody = Type.Object(
  {
    for_ms: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.pauseMs })),
    reason: Type.Optional(reason()),
  },
  closed,
);

export const ResumeBody = Type.Object({ reason: Type.Optional(reason()) }, closed);

export const HealthReply = Type.Object({ ok: Type.Boolean() });

export const KeysReply = Type.Object({
  keys: Type.Array(Type.Unknown(), { description: "Public keys (JWK) that verify signed mandates." }),
});

export const WhoamiReply = Type.Object({
  name: Type.String(),
  role: Type.Enum(["admin", "node", "observer"]),
  groups: orNull(
    Type.Array(Type.String(), {
      description: "Patterns of the groups that the caller may see; null: all groups.",
    }),
  ),
});

export const NumberedEvent = Type.Object({ ...EventShape.properties, number: number() });

export const HistoryReply = Type.Object({ events: Type.Array(NumberedEvent) });

export type Lease = Static<typeof Lease>;
export type FullLease = Static<typeof FullLease>;
export type CampaignBody = Static<typeof CampaignBody>;
export type CampaignReply = Static<typeof CampaignReply>;
export type CampaignManyBody = Static<typeof CampaignManyBody>;
export type CampaignManyReply = Static<typeof CampaignManyReply>;
export type RenewBody = Static<typeof RenewBody>;
export type RenewReply = Static<typeof RenewReply>;
export type RenewManyBody = Static<typeof RenewManyBody>;
export type RenewManyReply = Static<typeof RenewManyReply>;
export type ResignBody = Static<typeof ResignBody>;
export type ErrorReply = Static<typeof ErrorReply>;
export type LeaderReply = Static<typeof LeaderReply>;
export type EventShape = Static<typeof EventShape>;
export type NumberedEvent = Static<typeof NumberedEvent>;
export type EventsReply = Static<typeof EventsReply>;
export type GroupBody = Static<typeof GroupBody>;
export type GroupPatch = Static<typeof GroupPatch>;
export type GroupShape = Static<typeof GroupShape>;
export type Member = Static<typeof Member>;
export type MemberHealth = Static<typeof MemberHealth>;
export type TransferBody = Static<typeof TransferBody>;
export type WhoamiReply = Static<typeof WhoamiReply>;
