/** The parts that the other shapes are made of. */
import { ID_PATTERN, LIMITS } from "@tenure/core/internal";
import { type Static, type TSchema, Type } from "typebox";

export const closed = { additionalProperties: false } as const;
export const ID = { minLength: 1, maxLength: LIMITS.idLength, pattern: ID_PATTERN } as const;
export const id = () => Type.String(ID);
/** Not a union: those are told apart at run time, on the way of every answer. */
export const orNull = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ ...schema, nullable: true });
/** Any text on the wire, so that a new word breaks no client; in TypeScript one of those that there are. */
export const word = <W extends string>(options: { description?: string } = {}) =>
  Type.Unsafe<W>(Type.String(options));
export const metadata = (more = "") =>
  Type.Record(Type.String(), Type.Unknown(), {
    description: `JSON object of at most ${LIMITS.metadataBytes} bytes.${more}`,
  });

export const GroupParams = Type.Object({ group_id: id() }, closed);

/** Of a route that takes no query: what is misspelt or misplaced is refused there too. */
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
