/**
 * Stores for Tenure, each in a folder and a subpath of its own, and one way to open any of them by URL. A store keeps
 * the contract of the port in `@tenure/core`, and shows it by the suite in `@tenure/core/conformance`.
 */
export type { StoreState } from "./deferred-store.js";
export type { NatsConnectionLike } from "./nats/connection-like.js";
export { serverName, type ServerOption, type TlsOption } from "./option-reader.js";
export { openStore, type OpenStoreOptions, type StoreConnection } from "./open-store.js";
export type { PgPoolLike } from "./postgres/pool-like.js";
export type { ServerAddress } from "./server-url.js";
export type { StoreOpener } from "./store-opener.js";
export type { TlsFiles } from "./tls-files.js";
