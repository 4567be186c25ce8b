/** The history of a group: its last events, and the last acts of operators. */
import type { ActName } from "@tenure/core";
import { LIMITS } from "@tenure/core/internal";
import type { Static } from "typebox";
import { Type } from "./type.js";
import { closed, orNull, word } from "./common-shapes.js";
import { NumberedEvent } from "./election-shapes.js";

export const ActShape = Type.Object(
  {
    number: Type.Integer({ description: "Number of the act in its group, from 1 without gaps." }),
    act: word<ActName>({ description: "create, update, delete, step-down, transfer, pause or resume." }),
    by: Type.String({ description: "The operator." }),
    reason: orNull(Type.String({ description: "Why, if the operator said so." })),
    ts_ms: Type.Integer({ description: "Milliseconds since 1970 by the clock of the server, for display." }),
    term: Type.Integer({ description: "The highest term of the group at that time." }),
    node_id: Type.Optional(
      Type.String({ description: "The leader that was asked to step down, or the successor of a transfer." }),
    ),
    for_ms: Type.Optional(Type.Integer({ description: "Duration of the pause or of the ban." })),
    force: Type.Optional(Type.Boolean()),
    changes: Type.Optional(
      Type.Array(Type.String(), { description: "What an update changed: `max_ttl_ms: 60000 -> 30000`." }),
    ),
  },
  { title: "Act", description: "What an operator did to a group." },
);

export const HistoryReply = Type.Object({ events: Type.Array(NumberedEvent), acts: Type.Array(ActShape) });

export const GroupActShape = Type.Object(
  { group_id: Type.String(), ...ActShape.properties },
  { title: "GroupAct", description: "What an operator did, and to which group." },
);

const actsLimit = `Acts on a page: 1 to ${LIMITS.groupsPage}, default 100.`;

export const AuditQuery = Type.Object(
  {
    group_id: Type.Optional(Type.String({ description: "Only acts on this group." })),
    by: Type.Optional(Type.String({ description: "Only acts of this operator." })),
    limit: Type.Optional(Type.String({ description: actsLimit })),
    cursor: Type.Optional(Type.String({ description: "The cursor of the previous page." })),
  },
  closed,
);

export const AuditRequest = Type.Object(
  {
    ...AuditQuery.properties,
    limit: Type.Optional(Type.Integer({ minimum: 0, description: actsLimit })),
  },
  closed,
);

export const AuditReply = Type.Object({
  acts: Type.Array(GroupActShape),
  cursor: orNull(Type.String({ description: "Cursor of the next page, if there is one." })),
});

export type ActShape = Static<typeof ActShape>;
export type GroupActShape = Static<typeof GroupActShape>;
