/** Heartbeats from a separate thread. `worker-renewer.ts` says what `workerRenewer` promises and what not. */
export type { LeaseRenewerFactory } from "../election/lease-renewer.js";
export { HeartThreadError } from "./errors.js";
export { workerRenewer, type WorkerRenewerOptions } from "./worker-renewer.js";
