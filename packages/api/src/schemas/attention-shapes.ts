/** The shapes of findings: what needs an operator's attention. */
import type { Static } from "typebox";
import { Type } from "./type.js";
import type { FindingKind, Severity } from "../attention/finding.js";
import { orNull, word } from "./common-shapes.js";

export const FindingShape = Type.Object(
  {
    kind: word<FindingKind>({
      description:
        "vacant, flapping, missed_heartbeats, paused_long, no_standby, certificate_expiring, store_slow or store_unreachable.",
    }),
    severity: word<Severity>({
      description:
        "problem: a group cannot work, or soon cannot. warning: it works, and will not if this goes on. note: worth knowing.",
    }),
    group_id: orNull(Type.String({ description: "Absent: about the server, not about one group." })),
    since_ms: orNull(
      Type.Integer({ description: "Start of the situation in milliseconds since 1970, where it is known." }),
    ),
    summary: Type.String({
      description: "What is the matter, for people. The subject is the group or the server.",
    }),
    next_step: Type.String({ description: "What to do about it, for people." }),
  },
  { title: "Finding" },
);

export const AttentionReply = Type.Object({
  findings: Type.Array(FindingShape, { description: "The most severe first." }),
  omitted: Type.Integer({ description: "How many more findings there are. The list has at most 1000." }),
  checked_at_ms: Type.Integer({ description: "Milliseconds since 1970 by the clock of the server." }),
});

export type FindingShape = Static<typeof FindingShape>;
export type AttentionReply = Static<typeof AttentionReply>;
