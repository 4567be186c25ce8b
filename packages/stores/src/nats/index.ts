/**
 * The store in a NATS JetStream bucket. What it promises, and what the server must be for that, is said at `NatsStore`.
 */
export { NatsStore } from "./nats-store.js";
export type { NatsStatus } from "./connection.js";
export { type NatsStoreOptions, parseNatsUrl } from "./options.js";
export type { NatsConnectionLike } from "./connection-like.js";
