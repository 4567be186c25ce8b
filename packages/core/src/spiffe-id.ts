/**
 * The SPIFFE id in the subject alternative names of a certificate. It names who may lead, so an id that could be understood in
 * two ways is refused.
 */
import { ID_CHARACTERS, isId } from "./check.js";
import { InvalidRequestError } from "./errors.js";

export interface SpiffeName {
  readonly trustDomain: string;
  /** The first part of the path: `sdk`, `admin`, `server`, … */
  readonly kind: string;
  /** The rest of the path. It may contain slashes, as ids may. */
  readonly name: string;
}

export interface SpiffeId extends SpiffeName {
  readonly uri: string;
}

/** A name as Node prints it: `KIND:value`, or `KIND:"value"` with the quotes of JSON if the value could be misread. */
const ALT_NAME =
  /([A-Za-z][A-Za-z ]*):("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|[^",]*)(?:, |$)/uy;

/** Lower case, no port, user, escape or query, as the SPIFFE standard requires. Unlike in the standard, a name may contain `:`. */
const TRUST_DOMAIN = "[a-z0-9._-]{1,255}";
const IS_TRUST_DOMAIN = new RegExp(`^${TRUST_DOMAIN}$`);
const IN_TRUST_DOMAIN = new RegExp(`^spiffe://(${TRUST_DOMAIN})(?:/|$)`);
const SPIFFE_ID = new RegExp(`^spiffe://(${TRUST_DOMAIN})/([a-z]+)/([${ID_CHARACTERS}]+)$`);

/** `field`: the name of the option, for the error. */
export function parseTrustDomain(text: string, field = "trustDomain"): string {
  if (IS_TRUST_DOMAIN.test(text)) return text;
  throw new InvalidRequestError(
    field,
    `is "${text}" and must be 1 to 255 of a-z 0-9 . _ -, such as prod.example.org, without spiffe://`,
  );
}

export function spiffeUri({ trustDomain, kind, name }: SpiffeName): string {
  return `spiffe://${trustDomain}/${kind}/${name}`;
}

/** Whether `name` is an id that can be the name in a SPIFFE id. */
export function isSpiffeName(name: string): boolean {
  return isId(name) && isCleanPath(name);
}

/** `null` unless `uri` is spiffe://TRUST-DOMAIN/KIND/NAME. The length of the name is not limited here. */
export function parseSpiffeUri(uri: string): SpiffeId | null {
  const [, trustDomain, kind, name] = SPIFFE_ID.exec(uri) ?? [];
  if (trustDomain === undefined || kind === undefined || name === undefined || !isCleanPath(name))
    return null;
  return { uri, trustDomain, kind, name };
}

/** The trust domain of a certificate whose path may be anything. `null` unless the only URI is in a trust domain. */
export function trustDomainOf(subjectAltName: string | undefined): string | null {
  const uris = urisOf(subjectAltName) ?? [];
  const match = IN_TRUST_DOMAIN.exec(uris[0] ?? "");
  return uris.length === 1 ? (match?.[1] ?? null) : null;
}

/** All URIs in `PeerCertificate.subjectaltname` or `X509Certificate.subjectAltName`; `null` if the names cannot be read. */
export function urisOf(subjectAltName: string | undefined): readonly string[] | null {
  const text = subjectAltName ?? "";
  const uris: string[] = [];
  for (let at = 0; at < text.length;) {
    ALT_NAME.lastIndex = at;
    const [whole, kind, value] = ALT_NAME.exec(text) ?? [];
    if (whole === undefined || value === undefined) return null;
    if (kind === "URI") uris.push(value.startsWith('"') ? (JSON.parse(value) as string) : value);
    at += whole.length;
  }
  return uris;
}

/** A proxy or a library that normalizes `a/../b` must not arrive at another name. */
function isCleanPath(name: string): boolean {
  return name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}
