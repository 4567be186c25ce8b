/** The requests of watches. Their events are in `election-shapes.ts`. */
import { LIMITS } from "@tenure/core/internal";
import type { Static } from "typebox";
import { Type } from "./type.js";
import { closed, id } from "./common-shapes.js";

/** Interval of the keep-alive messages of a stream without events. Proxies close connections that are silent for longer. */
export const KEEP_ALIVE_MS = { min: 500, max: 15_000 } as const;

const keepAlive = `Longest time without a message on a stream, in milliseconds: the server sends a comment then. ${KEEP_ALIVE_MS.min} to ${KEEP_ALIVE_MS.max}, default ${KEEP_ALIVE_MS.max}.`;

const resumes =
  "The cursor received last. No event of the last 64 is missed or repeated; after more than 64, one RESYNC event has the current state. Absent or empty: start with the current state.";

export const WatchQuery = Type.Object(
  {
    cursor: Type.Optional(Type.String({ description: resumes })),
    timeout_ms: Type.Optional(Type.String()),
    keep_alive_ms: Type.Optional(Type.String({ description: keepAlive })),
  },
  closed,
);

export const WatchManyBody = Type.Object(
  {
    watches: Type.Array(
      Type.Object(
        {
          group_id: id(),
          cursor: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: "Number of the last event of this group that the caller has seen.",
            }),
          ),
        },
        { ...closed, title: "WatchOf" },
      ),
      // The same limit as for a batch of renewals.
      { minItems: 1, maxItems: LIMITS.renewMany, description: "At most one watch per group." },
    ),
    keep_alive_ms: Type.Optional(
      Type.Integer({ minimum: KEEP_ALIVE_MS.min, maximum: KEEP_ALIVE_MS.max, description: keepAlive }),
    ),
  },
  closed,
);

export type WatchManyBody = Static<typeof WatchManyBody>;
