/** The shapes of elections and watches, of errors, and of the service itself. */
import type { EndReason } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import type { Static } from "typebox";
import { Type } from "./type.js";
import {
  closed,
  heldBackForMs,
  highestTerm,
  ID,
  id,
  Lease,
  leaseNamed,
  metadata,
  orNull,
  word,
} from "./common-shapes.js";

/** The schema has no bounds: the elector checks the ttl and reports the bounds of the group's policy. */
const ttlMs = () =>
  Type.Integer({
    description: "Duration of the lease, from min_ttl_ms to max_ttl_ms of the group's policy.",
  });
const endReason = (options?: { description?: string }) => word<EndReason | "none">(options);
const instance = () =>
  Type.String({
    ...ID,
    description:
      "Drawn at random at each start of the process. Without it the caller guarantees that node_id names one process only.",
  });

export const CampaignBody = Type.Object(
  {
    node_id: id(),
    lease_ttl_ms: ttlMs(),
    metadata: Type.Optional(metadata()),
    instance_start_uuid: Type.Optional(instance()),
    priority: Type.Optional(
      Type.Integer({
        minimum: -LIMITS.priority,
        maximum: LIMITS.priority,
        description: 'Only counts in groups whose strategy is "priority".',
      }),
    ),
    ready: Type.Optional(
      Type.Boolean({
        description:
          "Whether the node can work as soon as it leads. Ready candidates are elected first, and no leader is asked to hand over to a node that is not ready. Default true.",
      }),
    ),
    wait_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.waitMs,
        description:
          "How long to wait for the leadership. The response is sent when the node has won, or at the end of the wait, so the request needs a longer timeout. A request that is cancelled stops waiting.",
      }),
    ),
  },
  closed,
);

const { wait_ms: _waitMs, ...campaignAtOnce } = CampaignBody.properties;

export const CampaignManyBody = Type.Object(
  {
    campaigns: Type.Array(
      Type.Object({ group_id: id(), ...campaignAtOnce }, { ...closed, title: "CampaignOf" }),
      {
        minItems: 1,
        maxItems: LIMITS.renewMany,
        description: "At most one campaign per group. These campaigns do not wait.",
      },
    ),
  },
  closed,
);

/** The metadata of the leader is included if the request has `Prefer: leader-metadata`. */
export const FullLease = Type.Object(
  { ...Lease.properties, metadata: Type.Optional(metadata(" Only with `prefer: leader-metadata`.")) },
  leaseNamed,
);

const token = () => Type.String({ description: "Signed mandate, if the service has a signing key." });
const transferTo = () =>
  Type.String({ description: "The node that waits to take over. Finish the work, then resign." });

export const CampaignReply = Type.Object({
  is_leader: Type.Boolean(),
  leader: orNull(FullLease),
  confirmed: Type.Optional(Type.Boolean({ description: "The caller already leads and keeps its term." })),
  retry_after_ms: Type.Optional(
    Type.Integer({ description: "After a lost campaign: how long to wait before the next one." }),
  ),
  held_back: Type.Optional(Type.String({ description: "Why a group without a leader is held back." })),
  held_back_for_ms: Type.Optional(heldBackForMs()),
  token: Type.Optional(token()),
  reason: Type.Optional(
    endReason({ description: "After a won campaign: how the previous term ended, as in events." }),
  ),
  waited_ms: Type.Optional(
    Type.Integer({
      description:
        "After a won campaign with wait_ms: how long after the request its lease began. Renew at once, and count the lease from before that renewal was sent.",
    }),
  ),
  transfer_to: Type.Optional(transferTo()),
});

export const RenewBody = Type.Object(
  {
    node_id: id(),
    term: Type.Integer({ minimum: 1 }),
    extend_by_ms: ttlMs(),
    instance_start_uuid: Type.Optional(instance()),
  },
  closed,
);

export const RenewReply = Type.Object({
  ok: Type.Literal(true),
  leader: FullLease,
  token: Type.Optional(token()),
  transfer_to: Type.Optional(transferTo()),
});

export const RenewManyBody = Type.Object(
  {
    renewals: Type.Array(
      Type.Object({ group_id: id(), ...RenewBody.properties }, { ...closed, title: "RenewRequest" }),
      { maxItems: LIMITS.renewMany, description: "At most one renewal per group." },
    ),
  },
  closed,
);

export const ErrorReply = Type.Object({
  ok: Type.Literal(false),
  error: Type.String({ description: "Code of the error. Programs decide by this code." }),
  message: Type.String({ description: "Text for people." }),
  current_leader: Type.Optional(
    orNull(
      Type.Object(
        { node_id: Type.String(), term: Type.Integer() },
        { title: "CurrentLeader", description: "Of NOT_LEADER: the leader, if the group has one." },
      ),
    ),
  ),
  field: Type.Optional(Type.String({ description: "Of INVALID_REQUEST: the field that is wrong." })),
  problem: Type.Optional(Type.String({ description: "Of INVALID_REQUEST: what is wrong with the field." })),
  min_ttl_ms: Type.Optional(Type.Integer({ description: "Of INVALID_TTL: the shortest lease allowed." })),
  max_ttl_ms: Type.Optional(Type.Integer({ description: "Of INVALID_TTL: the longest lease allowed." })),
});

const inOrder = { description: "In the order of the request." } as const;

export const CampaignManyReply = Type.Object({
  results: Type.Array(
    Type.Object(
      {
        group_id: Type.String(),
        ...Type.Partial(ErrorReply).properties,
        ...Type.Partial(CampaignReply).properties,
      },
      {
        title: "CampaignResult",
        description:
          "A decided campaign has the fields of a response to campaign. A refused campaign has `ok`, which is false, and the fields of an error.",
      },
    ),
    inOrder,
  ),
});

export const RenewManyReply = Type.Object({
  results: Type.Array(
    Type.Object(
      {
        group_id: Type.String(),
        ...Type.Partial(ErrorReply).properties,
        ...Type.Partial(RenewReply).properties,
        ok: Type.Boolean(),
      },
      {
        title: "RenewResult",
        description: "With `ok`, the fields of a response to renew. Without it, the fields of an error.",
      },
    ),
    inOrder,
  ),
});

export const ResignBody = Type.Object(
  { node_id: id(), term: Type.Integer({ minimum: 1 }), instance_start_uuid: Type.Optional(instance()) },
  closed,
);

export const LeaderQuery = Type.Object(
  {
    consistency: Type.Optional(
      Type.Enum(["linearizable", "local"], {
        description: "Default linearizable. A local response comes from memory and has age_ms.",
      }),
    ),
  },
  closed,
);

export const LeaderReply = Type.Object({
  leader: orNull(
    Type.Object(
      { ...Lease.properties, metadata: metadata() },
      { title: "Leader", description: leaseNamed.description },
    ),
  ),
  term: highestTerm(),
  held_back: Type.Optional(
    Type.Enum(["paused", "deposed", "reserved", "takeover_delay"], {
      description: "Why a group without a leader is held back.",
    }),
  ),
  held_back_for_ms: Type.Optional(heldBackForMs()),
  age_ms: Type.Optional(Type.Integer({ description: "Of a local response: its age." })),
});

const eventNamed = { title: "Event" } as const;

export const EventShape = Type.Object(
  {
    type: Type.Enum(["LEADER_CHANGED", "LEADER_LOST", "RESYNC"]),
    group_id: Type.String(),
    term: Type.Integer(),
    leader_node_id: orNull(Type.String({ description: "The leader from now on, if there is one." })),
    ts_ms: Type.Integer({
      description: "Milliseconds since 1970 by the clock of the server that wrote the event, for display.",
    }),
    previous_leader_node_id: orNull(Type.String({ description: "The leader before, if there was one." })),
    reason: endReason({
      description: "How the previous term ended: expired, resigned, deposed, transferred, or none.",
    }),
    by: Type.Optional(Type.String({ description: "The operator who caused the change." })),
    silent_ms: Type.Optional(
      Type.Integer({
        description:
          "Of LEADER_LOST after a lease expired: how long before the event the leader was last heard from. No node may have acted as leader for this long.",
      }),
    ),
  },
  eventNamed,
);

/** With its group, this number is the cursor of one of many watches. */
const number = () =>
  Type.Integer({
    description: "Number of the event in its group, from 1 without gaps; the cursor of a watch.",
  });

export const EventsReply = Type.Object({ events: Type.Array(EventShape), cursor: Type.String() });

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

export const NumberedEvent = Type.Object({ ...EventShape.properties, number: number() }, eventNamed);

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
export type WhoamiReply = Static<typeof WhoamiReply>;
