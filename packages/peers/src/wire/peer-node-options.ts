/** The options of a node, parsed once, with every reason not to start. */
import { createHash } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { checkInteger } from "@tenure/core/internal";
import type { Bundle } from "../certificates/bundle.js";
import { normalizeEndpoint } from "../membership/endpoint.js";

export interface GivenNodeOptions {
  /** Join targets, by comma. */
  readonly join: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly advertise?: string | undefined;
  readonly ttlMs: number;
  readonly store: string;
  /** `null` without mTLS. */
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
      "needs a store of this server's own: give --store embedded:DIR, or leave out --join",
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
      "names nobody: give URLs by comma, this server's own for the first",
    );
  if (bundle === null) {
    const others = join.filter((each) => each !== endpoint);
    if (others.length > 0) {
      throw new InvalidRequestError(
        "join",
        `names ${others.join(", ")}, and without certificates nobody can tell servers apart: give --bundle (tenure ca issue server)`,
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
      `is missing, and others cannot reach this server at ${listen.host}:${listen.port}: say the URL that they can use`,
    );
  }
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return normalizeEndpoint(`${bundle === null ? "http" : "https"}://${host}:${listen.port}`, "listen");
}

/** For a server that is alone: nobody else can know it by a certificate. */
function identityOfEndpoint(endpoint: string): string {
  return createHash("sha256").update(endpoint).digest("hex").slice(0, 32);
}
