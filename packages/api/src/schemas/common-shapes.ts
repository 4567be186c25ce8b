/** Types that several shapes share. */
import { ID_PATTERN, LIMITS } from "@tenure/core/internal";
import type { Static, TSchema } from "typebox";
import { Type } from "./type.js";

export const closed = { additionalProperties: false } as const;
export const ID = { minLength: 1, maxLength: LIMITS.idLength, pattern: ID_PATTERN } as const;
export const id = () => Type.String(ID);
/** A type list instead of a union, because serializing a union costs a check per value. */
export const orNull = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, nullable: true });
/** A string in the schema, so that a new value does not break old clients; in TypeScript one of the known values. */
export const word = <W extends string>(options: { description?: string } = {}) =>
  Type.Unsafe<W>(Type.String(options));
export const metadata = (more = "") =>
  Type.Record(Type.String(), Type.Unknown(), {
    description: `JSON object of at most ${LIMITS.metadataBytes} bytes.${more}`,
  });

export const GroupParams = Type.Object({ group_id: id() }, closed);

/** The query of a route that takes none: every parameter is refused, so that a misplaced one is noticed. */
export const NoQuery = Type.Object({}, closed);

export const leaseNamed = {
  title: "Lease",
  description: "A leader and its lease. A group without a leader has none.",
} as const;

export const Lease = Type.Object(
  {
    node_id: Type.String(),
    term: Type.Integer(),
    lease_expires_at_ms: Type.Integer({
      description:
        "Milliseconds since 1970 by the clock of the server, for display. A leader counts its own lease from before it sent its request.",
    }),
  },
  leaseNamed,
);

export const heldBackForMs = () =>
  Type.Integer({ description: "How much longer the group is held back. Absent: until an operator acts." });

export const highestTerm = () =>
  Type.Integer({ description: "The highest term so far; 0: the group has never had a leader." });

export const OkReply = Type.Object({ ok: Type.Literal(true) });

export type Lease = Static<typeof Lease>;
