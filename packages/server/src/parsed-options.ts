/** Checks the options of a server and fills in their defaults, once, before anything is opened. */
import { InvalidRequestError } from "@tenure/core";
import { checkInteger, checkKeys, isObject } from "@tenure/core/internal";
import {
  DEFAULT_KEY_MAX_AGE_SECONDS,
  DEFAULT_KEY_REFRESH_SECONDS,
  DEFAULT_TOKEN_MAX_AGE_SECONDS,
} from "./auth/jwt-limits.js";
import { isLoopback } from "./auth/listen-policy.js";
import type { TlsVersion } from "./auth/tls-files.js";
import { parseTrustDomain } from "./auth/trust-domain.js";
import type { LogLevel, TenureServerOptions } from "./options.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `TenureServerOptions` after the check, with every default filled in; what they mean is documented there. */
export interface ParsedServerOptions {
  readonly listen: Address;
  readonly grpc: Address | null;
  readonly store: string;
  readonly tls: {
    readonly cert: string;
    readonly key: string;
    readonly clientCa: string | null;
    /** Certificate, key and client CA are in one file. */
    readonly isBundle: boolean;
    readonly crl: string | null;
    readonly minVersion: TlsVersion;
    /** `null`: the default ciphers. */
    readonly ciphers: string | null;
    /** `null`: the trust domain of the server's own certificate. */
    readonly trustDomain: string | null;
  } | null;
  readonly jwt: {
    readonly jwks: string;
    readonly issuer: string | null;
    readonly audience: string | null;
    readonly maxAgeSeconds: number;
    readonly keyRefreshSeconds: number;
    readonly keyMaxAgeSeconds: number;
  } | null;
  readonly adminTokenFile: string | null;
  readonly signingKey: string | null;
  readonly logLevel: LogLevel;
  /** `null`: standard error. */
  readonly auditLog: string | null;
  /** `null`: never. */
  readonly auditHeadSeconds: number | null;
  /** `null`: none. */
  readonly webhooks: { readonly urls: readonly string[]; readonly secretFile: string } | null;
  readonly explicitGroups: boolean;
  /** Requests per second and caller; `null`: no limit. */
  readonly rateLimit: number | null;
  readonly insecure: boolean;
  readonly maxGroups: number;
  readonly maxGroupsPerNode: number;
  /** In lower case; `null`: no names besides those that are always accepted. */
  readonly allowedHosts: readonly string[] | null;
  /** `null`: what the limit of open files allows. */
  readonly maxConnections: number | null;
  readonly maxWatches: number;
  readonly maxWatchesPerCaller: number;
  readonly maxWaiting: number;
  readonly maxWaitingPerCaller: number;
}

const DEFAULT_RATE_LIMIT = 1000;
const MAX_NUMBER = 999_999_999;
const MIN_KEY_REFRESH_SECONDS = 10;
const HOST_NAME = /^(?:\*|[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

type Check = (value: unknown, field: string) => void;

const CHECKS: Readonly<Record<keyof TenureServerOptions, Check>> = {
  listen: checkString,
  grpc: checkString,
  store: checkString,
  tlsCert: checkString,
  tlsKey: checkString,
  tlsClientCa: checkString,
  bundle: checkString,
  tlsCrl: checkString,
  tlsMinVersion: oneOf("1.2", "1.3"),
  tlsCiphers: checkString,
  trustDomain: checkString,
  jwtJwks: checkString,
  jwtIssuer: checkString,
  jwtAudience: checkString,
  jwtMaxAgeSeconds: atLeast(0),
  jwtKeyRefreshSeconds: atLeast(MIN_KEY_REFRESH_SECONDS),
  jwtKeyMaxAgeSeconds: atLeast(0),
  adminTokenFile: checkString,
  insecure: checkBoolean,
  allowedHosts: checkHosts,
  signingKey: checkString,
  logLevel: oneOf("silent", "error", "warn", "info", "debug"),
  auditLog: checkString,
  auditHeadSeconds: atLeast(1),
  webhooks: checkStrings,
  webhookSecretFile: checkString,
  explicitGroups: checkBoolean,
  rateLimit: atLeast(0),
  maxGroups: atLeast(1),
  maxGroupsPerNode: atLeast(1),
  maxConnections: atLeast(1),
  maxWatches: atLeast(1),
  maxWatchesPerCaller: atLeast(1),
  maxWaiting: atLeast(1),
  maxWaitingPerCaller: atLeast(1),
};

/** Throws `InvalidRequestError`, whose `field` is the name of the option, for what `TenureServerOptions` does not allow. */
export function parseServerOptions(options: TenureServerOptions): ParsedServerOptions {
  checkTypes(options);
  const { maxWatches = 50_000, maxWaiting = 50_000 } = options;
  if (options.auditLog === undefined) refuseWithout(["auditLog"], options, ["auditHeadSeconds"]);
  const listen = parseAddress(options.listen ?? "127.0.0.1:7420", "listen");
  return Object.freeze({
    listen,
    grpc: options.grpc === undefined ? null : parseAddress(options.grpc, "grpc"),
    store: options.store ?? "embedded:./tenure-data",
    tls: parseTls(options),
    jwt: parseJwt(options),
    adminTokenFile: options.adminTokenFile ?? null,
    signingKey: options.signingKey ?? null,
    logLevel: options.logLevel ?? "info",
    auditLog: options.auditLog ?? null,
    auditHeadSeconds: options.auditHeadSeconds ?? null,
    webhooks: parseWebhooks(options),
    explicitGroups: options.explicitGroups ?? false,
    rateLimit: rateLimitOf(options, listen),
    insecure: options.insecure ?? false,
    maxGroups: options.maxGroups ?? 100_000,
    maxGroupsPerNode: options.maxGroupsPerNode ?? 10_000,
    allowedHosts: options.allowedHosts?.map((name) => name.toLowerCase()) ?? null,
    maxConnections: options.maxConnections ?? null,
    maxWatches,
    maxWatchesPerCaller: shareOf(maxWatches, "maxWatches", options.maxWatchesPerCaller),
    maxWaiting,
    maxWaitingPerCaller: shareOf(maxWaiting, "maxWaiting", options.maxWaitingPerCaller),
  });
}

function checkTypes(options: unknown): void {
  if (!isObject(options)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(options, "", Object.keys(CHECKS));
  for (const [field, check] of Object.entries(CHECKS)) {
    if (options[field] !== undefined) check(options[field], field);
  }
}

/** Programs on the same machine are not limited by default where no authentication is configured. */
function rateLimitOf(options: TenureServerOptions, listen: Address): number | null {
  const { rateLimit, tlsClientCa, bundle, jwtJwks, adminTokenFile } = options;
  if (rateLimit !== undefined) return rateLimit === 0 ? null : rateLimit;
  const isAuthenticated = [tlsClientCa, bundle, jwtJwks, adminTokenFile].some((each) => each !== undefined);
  return isAuthenticated || !isLoopback(listen.host) ? DEFAULT_RATE_LIMIT : null;
}

/** The part of `max` that one caller may use; half of it by default. */
function shareOf(max: number, field: string, share: number | undefined): number {
  if (share === undefined) return Math.ceil(max / 2);
  if (share <= max) return share;
  throw new InvalidRequestError(
    `${field}PerCaller`,
    (nameOf) => `is ${share}, more than ${nameOf(field)}, which is ${max}`,
  );
}

function parseAddress(text: string, field: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new InvalidRequestError(
      field,
      `is "${text}" and must be HOST:PORT, such as 127.0.0.1:7420 or [::1]:7420`,
    );
  }
  return { host: match[1] ?? match[2] ?? "", port };
}

function parseTls(options: TenureServerOptions): ParsedServerOptions["tls"] {
  const { tlsCert, tlsKey, tlsClientCa, bundle, tlsCrl, tlsMinVersion = "1.2", tlsCiphers } = options;
  const trustDomain = options.trustDomain === undefined ? null : parseTrustDomain(options.trustDomain);
  if (bundle === undefined && tlsClientCa === undefined)
    refuseWithout(["tlsClientCa", "bundle"], options, ["trustDomain", "tlsCrl"]);
  if (bundle === undefined && tlsCert === undefined)
    refuseWithout(["tlsCert", "bundle"], options, ["tlsMinVersion", "tlsCiphers"]);
  const more = {
    crl: tlsCrl ?? null,
    minVersion: `TLSv${tlsMinVersion}`,
    ciphers: tlsCiphers ?? null,
    trustDomain,
  } as const;
  if (bundle !== undefined) {
    if (tlsCert !== undefined || tlsKey !== undefined || tlsClientCa !== undefined) {
      throw new InvalidRequestError(
        "bundle",
        (nameOf) =>
          `cannot be combined with ${nameOf("tlsCert")}, ${nameOf("tlsKey")} or ${nameOf("tlsClientCa")}; use one or the other`,
      );
    }
    return { cert: bundle, key: bundle, clientCa: bundle, isBundle: true, ...more };
  }
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InvalidRequestError(
      tlsCert === undefined ? "tlsCert" : "tlsKey",
      "is missing; TLS needs both a certificate and its key",
    );
  }
  return { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa ?? null, isBundle: false, ...more };
}

function parseJwt(options: TenureServerOptions): ParsedServerOptions["jwt"] {
  const {
    jwtJwks,
    jwtIssuer,
    jwtAudience,
    jwtMaxAgeSeconds = DEFAULT_TOKEN_MAX_AGE_SECONDS,
    jwtKeyRefreshSeconds: keyRefreshSeconds = DEFAULT_KEY_REFRESH_SECONDS,
    jwtKeyMaxAgeSeconds: keyMaxAgeSeconds = Math.max(DEFAULT_KEY_MAX_AGE_SECONDS, keyRefreshSeconds),
  } = options;
  if (jwtJwks === undefined) {
    refuseWithout(["jwtJwks"], options, [
      "jwtIssuer",
      "jwtAudience",
      "jwtMaxAgeSeconds",
      "jwtKeyRefreshSeconds",
      "jwtKeyMaxAgeSeconds",
    ]);
    return null;
  }
  if (keyMaxAgeSeconds !== 0 && keyMaxAgeSeconds < keyRefreshSeconds) {
    throw new InvalidRequestError(
      "jwtKeyMaxAgeSeconds",
      (nameOf) =>
        `is ${keyMaxAgeSeconds} and must be at least ${nameOf("jwtKeyRefreshSeconds")}, ${keyRefreshSeconds}, or 0 for no limit`,
    );
  }
  return {
    jwks: jwtJwks,
    issuer: jwtIssuer ?? null,
    audience: jwtAudience ?? null,
    maxAgeSeconds: jwtMaxAgeSeconds,
    keyRefreshSeconds,
    keyMaxAgeSeconds,
  };
}

function parseWebhooks(options: TenureServerOptions): ParsedServerOptions["webhooks"] {
  const { webhooks, webhookSecretFile, insecure = false } = options;
  if (webhooks === undefined || webhooks.length === 0) {
    refuseWithout(["webhooks"], options, ["webhookSecretFile"]);
    return null;
  }
  if (webhookSecretFile === undefined)
    throw new InvalidRequestError("webhookSecretFile", "is missing; webhooks are always signed");
  for (const text of webhooks) checkWebhook(text, insecure);
  return { urls: webhooks, secretFile: webhookSecretFile };
}

function checkWebhook(text: string, insecure: boolean): void {
  const refuse = (problem: (nameOf: (field: string) => string) => string): never => {
    throw new InvalidRequestError("webhooks", problem);
  };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["https:", "http:"].includes(url.protocol))
    return refuse(() => `contains "${text}", which is no https: or http: URL`);
  if (url.username !== "" || url.password !== "")
    return refuse(
      () => "contains a URL with a user name or password; the signature authenticates the sender",
    );
  const isLocal = isLoopback(url.hostname.replace(/^\[|\]$/g, ""));
  if (url.protocol === "http:" && !isLocal && !insecure)
    return refuse(
      (nameOf) => `contains ${url.origin}, which is not encrypted; use https:, or ${nameOf("insecure")}`,
    );
}

/** Refuses those of `fields` that are set: they have no effect without one of `needed`. */
function refuseWithout(
  needed: readonly (keyof TenureServerOptions)[],
  options: TenureServerOptions,
  fields: readonly (keyof TenureServerOptions)[],
): void {
  const field = fields.find((each) => options[each] !== undefined);
  if (field === undefined) return;
  throw new InvalidRequestError(
    field,
    (nameOf) => `has no effect without ${needed.map(nameOf).join(" or ")}`,
  );
}

function checkString(value: unknown, field: string): void {
  if (typeof value !== "string") throw new InvalidRequestError(field, "must be a string");
}

function checkStrings(value: unknown, field: string): void {
  if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
    throw new InvalidRequestError(field, "must be a list of strings");
}

function checkBoolean(value: unknown, field: string): void {
  if (typeof value !== "boolean") throw new InvalidRequestError(field, "must be true or false");
}

function atLeast(min: number): Check {
  return (value, field) => void checkInteger(value, field, min, MAX_NUMBER);
}

function oneOf(...allowed: readonly string[]): Check {
  return (value, field) => {
    if (allowed.some((each) => each === value)) return;
    const found = typeof value === "string" ? `is "${value}" and ` : "";
    throw new InvalidRequestError(field, `${found}must be one of ${allowed.join(", ")}`);
  };
}

function checkHosts(value: unknown, field: string): void {
  if (!Array.isArray(value) || value.length === 0)
    throw new InvalidRequestError(field, "must be a list of at least one host name");
  for (const each of value as unknown[]) {
    if (typeof each === "string" && HOST_NAME.test(each.toLowerCase())) continue;
    const found = typeof each === "string" ? `"${each}"` : typeof each;
    throw new InvalidRequestError(
      field,
      `contains ${found}; each name must be without scheme and port, such as tenure.example.org, or *`,
    );
  }
}
