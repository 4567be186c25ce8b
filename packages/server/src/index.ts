/**
 * The election service: `TenureServer.open(parseServerOptions({…}))` serves what its OpenAPI document describes over HTTP and
 * Server-Sent Events, on any store.
 */
export type { ConnectionIdentity, ExtensionHost, ServerExtension } from "./extension.js";
export { type GivenOptions, parseServerOptions, type ServerOptions } from "./options.js";
export { ServiceError } from "./service-error.js";
export type { ServiceCode } from "@tenure/api/errors";
export { TenureServer, type TenureServerParts } from "./tenure-server.js";
