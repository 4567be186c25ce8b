/**
 * The election service: `TenureServer.open(parseServerOptions({…}))` serves what its OpenAPI document describes over HTTP and
 * Server-Sent Events, on any store.
 */
export type { ConnectionIdentity, ExtensionHost, ServerExtension } from "./extension.js";
export { type GivenOptions, parseServerOptions, type ServerOptions } from "./options.js";
export { ServiceError, type ServiceCode } from "./service-error.js";
export { TenureServer, type TenureServerParts } from "./tenure-server.js";
