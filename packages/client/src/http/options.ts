import { type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import { checkInteger, checkKeys, isObject } from "@tenure/core/internal";

/**
 * TLS of the connections to the service. Each part is given as PEM text or as a file; files are read again when they
 * change.
 */
export interface TlsOptions {
  /** CA certificates that the service's certificate is checked against. @defaultValue the CAs that Node knows */
  readonly ca?: string | undefined;
  /** A file with the CA certificates, instead of `ca`. @defaultValue none */
  readonly caFile?: string | undefined;
  /** The client certificate, if the service asks for one. It needs `key` or `keyFile`. @defaultValue none */
  readonly cert?: string | undefined;
  /** A file with the client certificate, instead of `cert`. @defaultValue none */
  readonly certFile?: string | undefined;
  /** The private key of the client certificate. Refused without a certificate. @defaultValue none */
  readonly key?: string | undefined;
  /** A file with the private key, instead of `key`. @defaultValue none */
  readonly keyFile?: string | undefined;
}

/** A token, or a function that returns one. The function is called once, and again when the service refuses its token. */
export type TokenSource = string | (() => string | Promise<string>);

/** Options of `HttpElector.open`. Unknown keys and values out of bounds are refused with `InvalidRequestError`. */
export interface HttpElectorOptions {
  /**
   * The servers of one service, such as `https://a.example:7420`; at least one. One server is asked at a time, and another
   * one when it fails. Give all servers, so that calls succeed while one of them is down.
   */
  readonly endpoints: readonly string[];
  /** The bearer token: a JWT or the admin token. @defaultValue none */
  readonly token?: TokenSource | undefined;
  /** A file with the bearer token, instead of `token`; read again when it changes. @defaultValue none */
  readonly tokenFile?: string | undefined;
  /** Certificates for `https:` endpoints. @defaultValue the CAs that Node knows, no client certificate */
  readonly tls?: TlsOptions | undefined;
  /**
   * Time limit of a whole call over all endpoints, in milliseconds, from 1 to 600,000. A waiting campaign has its wait in
   * addition; a renewal has at most a third of its ttl, a campaign slightly less than half of it. Too small: calls fail
   * although a server would have answered. Too large: reads and operators' calls hang that long while no server answers.
   *
   * @defaultValue 5000
   */
  readonly requestTimeoutMs?: number | undefined;
  /**
   * Time limit for one connection, in milliseconds, from 1 to 600,000; not more than `requestTimeoutMs`. After it the next
   * server is asked, so a small value finds a working server sooner.
   *
   * @defaultValue 2000, or `requestTimeoutMs` if that is less
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Whether renewals that come within `batchWindowMs` are sent as one request, and likewise campaigns that do not wait.
   * Switch it off only to see single requests while debugging.
   *
   * @defaultValue true
   */
  readonly batch?: boolean | undefined;
  /**
   * How long the first call of a batch waits for others, in milliseconds, from 0 to 1000. Every batched call takes up to
   * this much longer; with 0 only calls that come at the same moment are combined.
   *
   * @defaultValue 2
   */
  readonly batchWindowMs?: number | undefined;
  /** The source of time, for tests. @defaultValue `systemClock` */
  readonly clock?: Clock | undefined;
  /**
   * Returns a number from 0 to 1 (exclusive). It spreads clients over the endpoints and reconnects over time; for tests.
   *
   * @defaultValue `Math.random`
   */
  readonly random?: (() => number) | undefined;
}

export interface ParsedOptions {
  readonly endpoints: readonly URL[];
  readonly token: TokenSource | null;
  readonly tokenFile: string | null;
  readonly tls: TlsOptions;
  readonly requestTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly batch: boolean;
  readonly batchWindowMs: number;
  readonly clock: Clock;
  readonly random: () => number;
}

const KNOWN = [
  "endpoints",
  "token",
  "tokenFile",
  "tls",
  "requestTimeoutMs",
  "connectTimeoutMs",
  "batch",
  "batchWindowMs",
  "clock",
  "random",
];
const TLS_PARTS = ["ca", "cert", "key"] as const;

export function parseOptions(given: HttpElectorOptions): ParsedOptions {
  if (!isObject(given)) throw new InvalidRequestError("options", "must be an object");
  checkKeys(given, "", KNOWN);
  if (given.token !== undefined && given.tokenFile !== undefined) {
    throw new InvalidRequestError("tokenFile", "is given in addition to token; give only one of them");
  }
  const requestTimeoutMs = checkInteger(given.requestTimeoutMs ?? 5000, "requestTimeoutMs", 1, 600_000);
  const connectTimeoutMs = checkInteger(
    given.connectTimeoutMs ?? Math.min(2000, requestTimeoutMs),
    "connectTimeoutMs",
    1,
    600_000,
  );
  if (connectTimeoutMs > requestTimeoutMs) {
    throw new InvalidRequestError(
      "connectTimeoutMs",
      `is ${connectTimeoutMs}, more than requestTimeoutMs, which is ${requestTimeoutMs}`,
    );
  }
  const { batch = true } = given;
  if (typeof batch !== "boolean") {
    throw new InvalidRequestError("batch", "must be true or false");
  }
  return Object.freeze({
    endpoints: parseEndpoints(given.endpoints),
    token: parseToken(given.token),
    tokenFile: parseText(given.tokenFile, "tokenFile"),
    tls: parseTls(given.tls),
    requestTimeoutMs,
    connectTimeoutMs,
    batch,
    batchWindowMs: checkInteger(given.batchWindowMs ?? 2, "batchWindowMs", 0, 1000),
    clock: given.clock ?? systemClock,
    random: given.random ?? Math.random,
  });
}

function parseEndpoints(given: unknown): readonly URL[] {
  if (!Array.isArray(given) || given.length === 0) {
    throw new InvalidRequestError("endpoints", "must be a list of at least one URL");
  }
  return given.map((text: unknown, index) => {
    const field = `endpoints[${index}]`;
    const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) {
      throw new InvalidRequestError(field, `is ${JSON.stringify(text)} and must be http://… or https://…`);
    }
    if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
      throw new InvalidRequestError(
        field,
        "must contain only host, port and path; give credentials as options",
      );
    }
    return url;
  });
}

function parseToken(given: unknown): TokenSource | null {
  if (given === undefined) return null;
  if (typeof given === "function") return given as () => string;
  return parseText(given, "token");
}

function parseTls(given: unknown): TlsOptions {
  if (given === undefined) return {};
  if (!isObject(given)) throw new InvalidRequestError("tls", "must be an object");
  checkKeys(given, "tls", [...TLS_PARTS, ...TLS_PARTS.map((part) => `${part}File`)]);
  for (const part of TLS_PARTS) {
    const pem = parseText(given[part], `tls.${part}`);
    const file = parseText(given[`${part}File`], `tls.${part}File`);
    if (pem !== null && file !== null) {
      throw new InvalidRequestError(
        `tls.${part}File`,
        `is given in addition to tls.${part}; give only one of them`,
      );
    }
  }
  const tls = given as TlsOptions;
  const hasCert = (tls.cert ?? tls.certFile) !== undefined;
  const hasKey = (tls.key ?? tls.keyFile) !== undefined;
  if (hasCert !== hasKey) {
    throw new InvalidRequestError(
      hasCert ? "tls.key" : "tls.cert",
      "is missing; a certificate needs its key",
    );
  }
  return tls;
}

function parseText(given: unknown, field: string): string | null {
  if (given === undefined) return null;
  if (typeof given !== "string" || given === "")
    throw new InvalidRequestError(field, "must be a non-empty string");
  return given;
}
