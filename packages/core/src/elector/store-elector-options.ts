import type { Clock } from "../clock.js";
import type { Store } from "../store/store.js";

/** Options of `StoreElector.open`. Only `store` is required. */
export interface StoreElectorOptions {
  /**
   * Where all state lives. Several electors, in one process or in many, may use the same store. The elector does not close
   * it: close the elector first, then the store.
   */
  readonly store: Store;
  /**
   * The source of time. Programs leave this out; tests and simulations pass a virtual clock.
   *
   * @defaultValue `systemClock`, the machine's monotonic, boot and wall clocks
   */
  readonly clock?: Clock;
  /**
   * Returns a number from 0 to 1 (exclusive). It spreads retries and repairs over time, so that servers and candidates do not
   * act in step. No decision about who leads depends on it.
   *
   * @defaultValue `Math.random`
   */
  readonly random?: () => number;
  /**
   * ρ, the largest rate error of any clock that takes part: 0.01 means that a clock may gain or lose 10 ms per second. The
   * elector keeps a lease of `ttlMs` for `ttlMs · (1 + ρ)`; a leader stops acting after `ttlMs · (1 − ρ)`.
   *
   * Every elector and every client of one store must use the same value. A value below the real error of a clock can let two
   * leaders act at the same time. A value above it is safe and costs availability: failover after a crash takes longer by
   * `ttlMs · ρ`, and a leader may act for a shorter time. The value is not checked here; the client accepts 0 to 0.2.
   *
   * @defaultValue 0.01
   */
  readonly driftRatio?: number;
  /**
   * `true`: only groups that an operator created with `createGroup` exist. Every request for another group is rejected with
   * `GroupNotFoundError`. `false`: the first campaign in a group creates it, with the default policy.
   *
   * Set it where a misspelt group id must be an error, or where callers are not trusted to create groups.
   *
   * @defaultValue false
   */
  readonly explicitGroups?: boolean;
  /**
   * `true`: the elector records which nodes it has seen (by campaigns, renewals and heartbeats) in one key per group, which it
   * writes at most every 10 seconds, or every second while new members arrive. `false`: `members` and `health` return empty
   * lists, and a transfer without a named successor considers only candidates that wait at this elector. Who may win never
   * depends on it. It costs those writes and the memory for up to 256 members per group.
   *
   * @defaultValue false
   */
  readonly keepMembers?: boolean;
  /**
   * The largest number of groups that may exist at the same time, at least 1. Campaigns of nodes are rejected with
   * `TooManyGroupsError` when only a hundredth of the limit is left; an operator may still create groups with that rest.
   * Groups that exist already are never affected. Each elector counts the groups that it has seen, so electors that share
   * a store may together exceed the limit by the creations that are in flight at the same moment. Give all electors of a
   * store the same limit. If the limit is too low, new groups cannot elect a leader until a group is deleted.
   *
   * @defaultValue no limit, because a program with access to the store is trusted; the service sets a limit
   */
  readonly maxGroups?: number;
  /**
   * The largest number of groups that one node may create by campaigning and that exist at the same time, at least 1. The
   * node's next campaign in a new group is rejected with `TooManyGroupsError`. A group that an operator creates or configures
   * counts for no node, and a deleted group no longer counts.
   *
   * @defaultValue no limit, for the same reason as for `maxGroups`
   */
  readonly maxGroupsPerNode?: number;
}
