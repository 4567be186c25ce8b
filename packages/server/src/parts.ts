/**
 * How the service words its answers. For the simulation, whose servers answer over a network of its own in the very shapes
 * of this one; a program uses `TenureServer`.
 */
export { asServiceError, HTTP_STATUS, notLeader, ServiceError } from "./service-error.js";
export * as codec from "./wire/codec.js";
export type * as shapes from "./wire/shapes.js";
export type { WatchManyBody } from "./wire/watch-shapes.js";
