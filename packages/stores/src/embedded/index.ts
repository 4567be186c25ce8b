/**
 * The store that needs nothing but a directory: durable, for one process at a time, on a local file system. For
 * several servers use one of the replicated engines.
 */
export { EmbeddedStore, type EmbeddedStoreOptions } from "./embedded-store.js";
