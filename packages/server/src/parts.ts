/**
 * How the service words its answers. For the simulation, whose servers answer over a network of its own in the very shapes
 * of this one; a program uses `TenureServer`. What requests cost: for `tenure plan`.
 */
export { batchCost } from "./limits/admission.js";
export { asServiceError, notLeader, ServiceError } from "./service-error.js";
export * as codec from "@tenure/api";
export type { shapes, WatchManyBody } from "@tenure/api";
