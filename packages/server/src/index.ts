/**
 * The election service: `TenureServer.open({ … })` serves what its OpenAPI document describes over HTTP, Server-Sent Events and
 * gRPC, on any store.
 */
export type { ConnectionIdentity, ExtensionHost, ServerExtension } from "./extension.js";
export type { LogLevel, TenureServerOptions, TlsVersionNumber } from "./options.js";
export { type ParsedServerOptions, parseServerOptions } from "./parsed-options.js";
export { ServiceError } from "./service-error.js";
export type { ServiceCode } from "@tenure/api/errors";
export { TenureServer, type TenureServerDeps } from "./tenure-server.js";
