import { type Clock, InvalidRequestError, systemClock } from "@tenure/core";
import { checkInteger, checkKeys, isObject } from "@tenure/core/internal";

/** Each part either as PEM or by the file that holds it; files are read again when they change. */
export interface TlsOptions {
  /** Who may have signed the service's certificate, instead of those that Node knows. */
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
  /** Our own certificate and its key, where the service asks for one. */
  readonly cert?: string | undefined;
  readonly certFile?: string | undefined;
  readonly key?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** Asked for once, and again when the service does not accept what it gave. */
export type TokenSource = string | (() => string | Promise<string>);

/** Options of `HttpElector.open`. Unknown keys and values out of bounds are refused with `InvalidRequestError`. */
export interface HttpElectorOptions {
  /** Servers of one service, such as `https://a.example:7420`. One is asked at a time; another when it fails. */
  readonly endpoints: readonly string[];
  /** A JWT or the admin token. */
  readonly token?: TokenSource | undefined;
  /** The file that holds it; read again when it changes. */
  readonly tokenFile?: string | undefined;
  readonly tls?: TlsOptions | undefined;
  /** For a whole call, over all endpoints; a waiting campaign has its wait besides, a renewal at most a third of its ttl. */
  readonly requestTimeoutMs?: number | undefined;
  readonly connectTimeoutMs?: number | undefined;
  /** Send the renewals that come within `batchWindowMs` together, and so the campaigns that do not wait. */
  readonly batch?: boolean | undefined;
  readonly batchWindowMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** 0 to 1: spreads the clients over the endpoints and their reconnects over time. */
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
    throw new InvalidRequestError("tokenFile", "is given besides token; give one of the two");
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
        "must be no more than host, port and path; credentials are options",
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
      throw new InvalidRequestError(`tls.${part}File`, `is given besides tls.${part}; give one of the two`);
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
  if (typeof given !== "string" || given === "") throw new InvalidRequestError(field, "must be a text");
  return given;
}
