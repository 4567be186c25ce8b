/** The service's options, parsed once into a frozen object. Unknown keys are refused. */
import { InvalidRequestError } from "@tenure/core";
import { isLoopback } from "./auth/listen-policy.js";
import {
  DEFAULT_KEY_MAX_AGE_SECONDS,
  DEFAULT_KEY_REFRESH_SECONDS,
  DEFAULT_TOKEN_MAX_AGE_SECONDS,
} from "./auth/jwt-limits.js";
import type { TlsVersion } from "./auth/tls-files.js";
import { parseTrustDomain } from "./auth/trust-domain.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface ServerOptions {
  readonly listen: Address;
  readonly grpc: Address | null;
  readonly store: string;
  readonly tls: {
    readonly cert: string;
    readonly key: string;
    readonly clientCa: string | null;
    /** All three lie in one file. */
    readonly isBundle: boolean;
    /** Revocation lists. */
    readonly crl: string | null;
    readonly minVersion: TlsVersion;
    /** `null`: the default. */
    readonly ciphers: string | null;
    /** Of client certificates; `null`: that of the server's own certificate. */
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
  /** The file of the audit log; `null`: standard error, beside the log. */
  readonly auditLog: string | null;
  readonly explicitGroups: boolean;
  /** Requests per second and caller; `null`: no limit. */
  readonly rateLimit: number | null;
  readonly insecure: boolean;
  readonly maxGroups: number;
  readonly maxGroupsPerNode: number;
  /**
   * Names that a request may have as Host, without the port. `null`: any name with authentication; without it only loopback, and
   * with `--insecure` on another address also addresses and names without a dot. `*` admits every name.
   */
  readonly allowedHosts: readonly string[] | null;
  /** Connections open at once, on all ports; `null`: what the limit of open files allows. */
  readonly maxConnections: number | null;
  /** Watches open at once. A twentieth of them is for admins only. */
  readonly maxWatches: number;
  /** Of one caller; admins are not limited by it. */
  readonly maxWatchesPerCaller: number;
  /** Waiting campaigns at once. A twentieth of them is for admins only. */
  readonly maxWaiting: number;
  /** Of one caller; admins are not limited by it. */
  readonly maxWaitingPerCaller: number;
}

const LOG_LEVELS = ["silent", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** As given on a command line or in the environment: texts and switches. */
export interface GivenOptions {
  readonly listen?: string | undefined;
  readonly grpc?: string | undefined;
  readonly store?: string | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tlsClientCa?: string | undefined;
  /** Key, certificate and authority in one file, as `tenure ca issue` makes it. */
  readonly bundle?: string | undefined;
  /**
   * Revocation lists of the client authorities, in PEM. A change of the file takes effect on new connections and on open
   * ones. There must be a list of every authority in the chains of clients, and none may be over.
   *
   * @defaultValue none: client certificates are valid until they expire
   */
  readonly tlsCrl?: string | undefined;
  /**
   * The oldest version of TLS that is accepted, `1.2` or `1.3`, over HTTPS and gRPC.
   *
   * @defaultValue 1.2
   */
  readonly tlsMinVersion?: string | undefined;
  /**
   * The ciphers that are accepted, as OpenSSL lists them; those of TLS 1.3 begin with `TLS_`, and without any of these TLS 1.3 is
   * not spoken.
   *
   * @defaultValue authenticated encryption with forward secrecy only: AES-GCM and ChaCha20-Poly1305, with ECDHE
   */
  readonly tlsCiphers?: string | undefined;
  /**
   * The trust domain that client certificates must be of.
   *
   * @defaultValue that of the server's own certificate
   */
  readonly trustDomain?: string | undefined;
  readonly jwtJwks?: string | undefined;
  readonly jwtIssuer?: string | undefined;
  readonly jwtAudience?: string | undefined;
  /**
   * The longest life of a token, in seconds. Refused are tokens that expire later than this from now, and tokens with an `iat`
   * that were issued for longer. 0: without limit.
   *
   * @defaultValue 86400
   */
  readonly jwtMaxAge?: string | undefined;
  /**
   * Seconds between two fetches of a JWKS at a URL. A key that was withdrawn is accepted for this long, while the URL answers.
   *
   * @defaultValue 300
   */
  readonly jwtKeyRefresh?: string | undefined;
  /**
   * Seconds for which the keys of a URL stay in use while the URL does not answer. After them tokens are answered with
   * `BACKEND_UNAVAILABLE`. 0: without limit.
   *
   * @defaultValue 86400
   */
  readonly jwtKeyMaxAge?: string | undefined;
  readonly adminTokenFile?: string | undefined;
  readonly signingKey?: string | undefined;
  readonly logLevel?: string | undefined;
  /**
   * Append the lines of the audit log to this file, which is made with mode 0600. `logLevel` has no effect on them.
   *
   * @defaultValue standard error, where the log goes
   */
  readonly auditLog?: string | undefined;
  readonly explicitGroups?: boolean | undefined;
  readonly rateLimit?: string | undefined;
  /**
   * Accept, on an address that other machines can reach, that no authentication is configured or that bearer tokens come in
   * clear text. A warning is logged at the start.
   *
   * @defaultValue false
   */
  readonly insecure?: boolean | undefined;
  /**
   * Groups that may exist at once. The last hundredth is reserved for admins. Beyond, requests that would make a group are
   * answered with `TOO_MANY_GROUPS`; groups that exist are not affected.
   *
   * @defaultValue 100000: about 250 MB of memory without metadata, 2 GB if every leader has 4 KiB of it
   */
  readonly maxGroups?: string | undefined;
  /**
   * Groups that one node may bring into existence by campaigning, at the same time. Groups that an admin created or
   * configured do not count.
   *
   * @defaultValue 10000: a tenth of `maxGroups`, so it takes ten nodes to use up the groups of all
   */
  readonly maxGroupsPerNode?: string | undefined;
  /** Separated by commas. */
  readonly allowedHosts?: string | undefined;
  /** @defaultValue the limit of open files less 128, and at most 65536; 10000 where that limit is not known */
  readonly maxConnections?: string | undefined;
  /** @defaultValue 50000 */
  readonly maxWatches?: string | undefined;
  /** @defaultValue half of `maxWatches` */
  readonly maxWatchesPerCaller?: string | undefined;
  /** @defaultValue 50000 */
  readonly maxWaiting?: string | undefined;
  /** @defaultValue half of `maxWaiting` */
  readonly maxWaitingPerCaller?: string | undefined;
}

const DEFAULT_RATE_LIMIT = 1000;

const KNOWN: Readonly<Record<keyof GivenOptions, true>> = {
  listen: true,
  grpc: true,
  store: true,
  tlsCert: true,
  tlsKey: true,
  tlsClientCa: true,
  bundle: true,
  tlsCrl: true,
  tlsMinVersion: true,
  tlsCiphers: true,
  trustDomain: true,
  jwtJwks: true,
  jwtIssuer: true,
  jwtAudience: true,
  jwtMaxAge: true,
  jwtKeyRefresh: true,
  jwtKeyMaxAge: true,
  adminTokenFile: true,
  signingKey: true,
  logLevel: true,
  auditLog: true,
  explicitGroups: true,
  rateLimit: true,
  insecure: true,
  maxGroups: true,
  maxGroupsPerNode: true,
  allowedHosts: true,
  maxConnections: true,
  maxWatches: true,
  maxWatchesPerCaller: true,
  maxWaiting: true,
  maxWaitingPerCaller: true,
};

export function parseServerOptions(given: GivenOptions): ServerOptions {
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(KNOWN, key))
      throw new InvalidRequestError(key, `is unknown; known options are ${Object.keys(KNOWN).join(", ")}`);
  }
  const isAuthenticated =
    given.tlsClientCa !== undefined ||
    given.bundle !== undefined ||
    given.jwtJwks !== undefined ||
    given.adminTokenFile !== undefined;
  const rateLimit =
    given.rateLimit === undefined ? DEFAULT_RATE_LIMIT : wholeNumber(given.rateLimit, "rate-limit", 0);
  const listen = parseAddress(given.listen ?? "127.0.0.1:7420", "listen");
  // Whoever is at the machine may use all of it, unless a limit was asked for.
  const isUnlimited = given.rateLimit === undefined && !isAuthenticated && isLoopback(listen.host);
  const maxWatches = wholeNumber(given.maxWatches ?? "50000", "max-watches", 1);
  const maxWaiting = wholeNumber(given.maxWaiting ?? "50000", "max-waiting", 1);
  return Object.freeze({
    listen,
    grpc: given.grpc === undefined ? null : parseAddress(given.grpc, "grpc"),
    store: given.store ?? "embedded:./tenure-data",
    tls: parseTls(given),
    jwt: parseJwt(given),
    adminTokenFile: given.adminTokenFile ?? null,
    signingKey: given.signingKey ?? null,
    logLevel: parseLogLevel(given.logLevel ?? "info"),
    auditLog: given.auditLog ?? null,
    explicitGroups: given.explicitGroups ?? false,
    rateLimit: rateLimit === 0 || isUnlimited ? null : rateLimit,
    insecure: given.insecure ?? false,
    maxGroups: wholeNumber(given.maxGroups ?? "100000", "max-groups", 1),
    maxGroupsPerNode: wholeNumber(given.maxGroupsPerNode ?? "10000", "max-groups-per-node", 1),
    allowedHosts: given.allowedHosts === undefined ? null : parseHosts(given.allowedHosts),
    maxConnections:
      given.maxConnections === undefined ? null : wholeNumber(given.maxConnections, "max-connections", 1),
    maxWatches,
    maxWatchesPerCaller: shareOf(maxWatches, "max-watches", given.maxWatchesPerCaller),
    maxWaiting,
    maxWaitingPerCaller: shareOf(maxWaiting, "max-waiting", given.maxWaitingPerCaller),
  });
}

/** Of one caller; half of all by default. */
function shareOf(max: number, field: string, given: string | undefined): number {
  if (given === undefined) return Math.ceil(max / 2);
  const share = wholeNumber(given, `${field}-per-caller`, 1);
  if (share <= max) return share;
  throw new InvalidRequestError(`${field}-per-caller`, `is ${share}, more than ${field}, which is ${max}`);
}

function parseHosts(text: string): readonly string[] {
  return text.split(",").map((each) => {
    const name = each.trim().toLowerCase();
    if (/^(?:\*|[a-z0-9._-]+|\[[0-9a-f:.]+\])$/.test(name)) return name;
    const problem = `has "${each}" and must be names without scheme and port, separated by commas, or *`;
    throw new InvalidRequestError("allowed-hosts", problem);
  });
}

export function parseAddress(text: string, field: string): Address {
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

function parseTls({
  tlsCert,
  tlsKey,
  tlsClientCa,
  bundle,
  tlsCrl,
  tlsMinVersion,
  tlsCiphers,
  trustDomain: domain,
}: GivenOptions): ServerOptions["tls"] {
  const trustDomain = domain === undefined ? null : parseTrustDomain(domain);
  if (tlsClientCa === undefined && bundle === undefined) {
    const orphan = trustDomain !== null ? "trust-domain" : tlsCrl !== undefined ? "tls-crl" : null;
    if (orphan !== null)
      throw new InvalidRequestError(orphan, "has no effect without tls-client-ca or bundle");
  }
  if (tlsCert === undefined && bundle === undefined) {
    const orphan =
      tlsMinVersion !== undefined ? "tls-min-version" : tlsCiphers !== undefined ? "tls-ciphers" : null;
    if (orphan !== null) throw new InvalidRequestError(orphan, "has no effect without tls-cert or bundle");
  }
  const more = {
    crl: tlsCrl ?? null,
    minVersion: parseTlsVersion(tlsMinVersion ?? "1.2"),
    ciphers: tlsCiphers ?? null,
    trustDomain,
  };
  if (bundle !== undefined) {
    if (tlsCert !== undefined || tlsKey !== undefined || tlsClientCa !== undefined) {
      throw new InvalidRequestError(
        "bundle",
        "cannot be combined with --tls-cert, --tls-key or --tls-client-ca; use one or the other",
      );
    }
    return { cert: bundle, key: bundle, clientCa: bundle, isBundle: true, ...more };
  }
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InvalidRequestError(
      tlsCert === undefined ? "tls-cert" : "tls-key",
      "is missing; TLS needs both a certificate and its key",
    );
  }
  return { cert: tlsCert, key: tlsKey, clientCa: tlsClientCa ?? null, isBundle: false, ...more };
}

function parseTlsVersion(text: string): TlsVersion {
  if (text === "1.2" || text === "1.3") return `TLSv${text}`;
  throw new InvalidRequestError("tls-min-version", `is "${text}" and must be 1.2 or 1.3`);
}

function parseJwt(given: GivenOptions): ServerOptions["jwt"] {
  const { jwtJwks, jwtIssuer, jwtAudience, jwtMaxAge, jwtKeyRefresh, jwtKeyMaxAge } = given;
  if (jwtJwks === undefined) {
    const others = {
      "jwt-issuer": jwtIssuer,
      "jwt-audience": jwtAudience,
      "jwt-max-age": jwtMaxAge,
      "jwt-key-refresh": jwtKeyRefresh,
      "jwt-key-max-age": jwtKeyMaxAge,
    };
    for (const [field, value] of Object.entries(others)) {
      if (value !== undefined) throw new InvalidRequestError(field, "has no effect without jwt-jwks");
    }
    return null;
  }
  const keyRefreshSeconds = wholeNumber(
    jwtKeyRefresh ?? String(DEFAULT_KEY_REFRESH_SECONDS),
    "jwt-key-refresh",
    10,
  );
  const keyMaxAgeSeconds = wholeNumber(
    jwtKeyMaxAge ?? String(Math.max(DEFAULT_KEY_MAX_AGE_SECONDS, keyRefreshSeconds)),
    "jwt-key-max-age",
    0,
  );
  if (keyMaxAgeSeconds !== 0 && keyMaxAgeSeconds < keyRefreshSeconds) {
    throw new InvalidRequestError(
      "jwt-key-max-age",
      `is ${keyMaxAgeSeconds} and must be at least jwt-key-refresh, ${keyRefreshSeconds}, or 0 for no limit`,
    );
  }
  return {
    jwks: jwtJwks,
    issuer: jwtIssuer ?? null,
    audience: jwtAudience ?? null,
    maxAgeSeconds: wholeNumber(jwtMaxAge ?? String(DEFAULT_TOKEN_MAX_AGE_SECONDS), "jwt-max-age", 0),
    keyRefreshSeconds,
    keyMaxAgeSeconds,
  };
}

function parseLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((each) => each === text);
  if (level === undefined)
    throw new InvalidRequestError("log-level", `is "${text}" and must be one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

function wholeNumber(text: string, field: string, min: number): number {
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < min) {
    throw new InvalidRequestError(field, `is "${text}" and must be a whole number of at least ${min}`);
  }
  return value;
}
