/**
 * Follows the leader of a group without campaigning, and brings requests to the leader. `observer.ts` and `to-leader.ts`
 * say what they promise and what not.
 */
export type { ObservedLeader, ObserverEvent, ObserverStatus } from "./observed.js";
export { Observer } from "./observer.js";
export type { ObserverOptions } from "./options.js";
export { expressToLeader, fastifyToLeader, nodeToLeader, type ToLeaderOptions } from "./to-leader.js";
