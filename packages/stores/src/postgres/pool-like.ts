import { InvalidRequestError } from "@tenure/core";

/** What is used of a `Pool` of `pg`, by its shape. Its clients must be those of `pg`, not of `pg-native`. */
export interface PgPoolLike {
  connect(): Promise<unknown>;
  readonly options?: { readonly max?: number | undefined } | undefined;
}

const DEFAULT_MAX = 10;

/** Throws if it is no pool, or has less than `needed` connections. */
export function checkPool(pool: unknown, needed: number): PgPoolLike {
  const given = pool as (Partial<PgPoolLike> & { readonly totalCount?: unknown }) | null;
  if (typeof given?.connect !== "function" || typeof given.totalCount !== "number") {
    throw new InvalidRequestError("pool", "must be a Pool of pg");
  }
  const max = given.options?.max ?? DEFAULT_MAX;
  if (max < needed) {
    const why =
      "poolSize for writes, two for reads and one for a feed, beside those that the program uses itself";
    throw new InvalidRequestError("pool", `has max ${max} and must have at least ${needed}: ${why}`);
  }
  return given as PgPoolLike;
}
