/** The options of a node, parsed once. Refuses a combination that cannot work. */
import { createHash } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { checkInteger } from "@tenure/core/internal";
import type { Bundle } from "../certificates/bundle.js";
import { normalizeEndpoint } from "../membership/endpoint.js";

export interface GivenNodeOptions {
  /** Comma-separated URLs of the join targets (`--join`); the first server of a cluster names its own. */
  readonly join: string;
  /** Where this server listens. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The URL at which the others reach this server (`--advertise`). @defaultValue derived from `listen` */
  readonly advertise?: string | undefined;
  /**
   * The ttl of the leader's lease, in milliseconds, from 300 to 3,600,000 (`--tc-ttl`); the same at every server. See
   * `PeerOptions.ttlMs`.
   */
  readonly ttlMs: number;
  /** The URL of the server's own store; it must be `embedded:`. */
  readonly store: string;
  /** The server's certificate, key and CA; `null` without mTLS, which is possible for a single server only. */
  readonly bundle: Bundle | null;
}

export interface NodeOptions {
  readonly identity: string;
  readonly trustDomain: string | null;
  readonly endpoint: string;
  readonly join: readonly string[];
  readonly ttlMs: number;
}

const MIN_TTL_MS = 300;
const MAX_TTL_MS = 3_600_000;
const ANYWHERE = new Set(["0.0.0.0", "::", ""]);

export function parseNodeOptions(given: GivenNodeOptions): NodeOptions {
  const { bundle, store } = given;
  if (!store.startsWith("embedded:")) {
    throw new InvalidRequestError(
      "join",
      "needs a store of this server's own: use --store embedded:DIR, or remove --join",
    );
  }
  const ttlMs = checkInteger(given.ttlMs, "tc-ttl", MIN_TTL_MS, MAX_TTL_MS);
  const endpoint = ownEndpoint(given);
  const join = [
    ...new Set(
      given.join
        .split(",")
        .filter((each) => each.trim() !== "")
        .map((each) => normalizeEndpoint(each, "join")),
    ),
  ];
  if (join.length === 0)
    throw new InvalidRequestError(
      "join",
      "is empty: give comma-separated URLs; the first server of a cluster names its own URL",
    );
  if (bundle === null) {
    const others = join.filter((each) => each !== endpoint);
    if (others.length > 0) {
      throw new InvalidRequestError(
        "join",
        `names ${others.join(", ")}, which needs certificates so that servers can identify each other: give --bundle (tenure ca issue server)`,
      );
    }
    return { identity: identityOfEndpoint(endpoint), trustDomain: null, endpoint, join, ttlMs };
  }
  const { kind, name, trustDomain } = bundle.owner;
  if (kind !== "server") {
    throw new InvalidRequestError(
      "bundle",
      `is that of a ${kind}, ${name}: give one that tenure ca issue server has made`,
    );
  }
  const plain = [endpoint, ...join].find((each) => !each.startsWith("https:"));
  if (plain !== undefined)
    throw new InvalidRequestError("join", `needs https throughout, and ${plain} is not`);
  return { identity: name, trustDomain, endpoint, join, ttlMs };
}

function ownEndpoint({ advertise, listen, bundle }: GivenNodeOptions): string {
  if (advertise !== undefined) return normalizeEndpoint(advertise, "advertise");
  if (ANYWHERE.has(listen.host) || listen.port === 0) {
    throw new InvalidRequestError(
      "advertise",
      `is missing, and other servers cannot reach this one at ${listen.host}:${listen.port}: give the URL that they can use`,
    );
  }
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return normalizeEndpoint(`${bundle === null ? "http" : "https"}://${host}:${listen.port}`, "listen");
}

/** For a single server: no other server needs to identify it by a certificate. */
function identityOfEndpoint(endpoint: string): string {
  return createHash("sha256").update(endpoint).digest("hex").slice(0, 32);
}
