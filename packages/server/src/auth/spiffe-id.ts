/**
 * The SPIFFE id in the subject alternative names of a certificate. Read strictly: what could be understood in two ways
 * is refused, because it names who may lead.
 */
import { unauthenticated } from "./refusal.js";

export interface SpiffeId {
  readonly uri: string;
  readonly trustDomain: string;
  /** The first part of the path: `sdk`, `admin`, `server` … */
  readonly kind: string;
  /** The rest of the path; may hold slashes, as ids may. */
  readonly name: string;
}

/** As Node prints a name: `KIND:value`, or `KIND:"value"` in JSON's quotes where the value could be misread. */
const ALT_NAME =
  /([A-Za-z][A-Za-z ]*):("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|[^",]*)(?:, |$)/uy;

/** Lower case only, no port, no user, no escapes, no query: as the SPIFFE standard has it, and `:` in names besides. */
const SPIFFE = /^spiffe:\/\/([a-z0-9._-]{1,255})\/([a-z]+)\/([A-Za-z0-9._:/-]+)$/;

/** From `PeerCertificate.subjectaltname`. */
export function readSpiffeId(subjectAltName: string | undefined): SpiffeId {
  const uris = altNames(subjectAltName ?? "").flatMap(([kind, value]) => (kind === "URI" ? [value] : []));
  const [uri, ...others] = uris;
  if (uri === undefined)
    throw unauthenticated("the client certificate has no URI in its subject alternative names");
  if (others.length > 0) {
    throw unauthenticated(`the client certificate has ${uris.length} URIs; it must have exactly one`);
  }
  const [, trustDomain, kind, name] = SPIFFE.exec(uri) ?? [];
  if (trustDomain === undefined || kind === undefined || name === undefined || !isCleanPath(name)) {
    throw unauthenticated(
      `the URI of the client certificate, ${JSON.stringify(uri)}, is not spiffe://TRUST-DOMAIN/KIND/NAME`,
    );
  }
  return { uri, trustDomain, kind, name };
}

/** Of a server's own certificate, whose path may be anything. `null` unless exactly one URI names exactly one domain. */
export function trustDomainOf(subjectAltName: string | undefined): string | null {
  const uris = altNames(subjectAltName ?? "").filter(([kind]) => kind === "URI");
  const match = /^spiffe:\/\/([a-z0-9._-]{1,255})(?:\/|$)/.exec(uris[0]?.[1] ?? "");
  return uris.length === 1 ? (match?.[1] ?? null) : null;
}

function altNames(text: string): [kind: string, value: string][] {
  const names: [string, string][] = [];
  for (let at = 0; at < text.length;) {
    ALT_NAME.lastIndex = at;
    const [whole, kind, value] = ALT_NAME.exec(text) ?? [];
    if (whole === undefined || kind === undefined || value === undefined) {
      throw unauthenticated("the subject alternative names of the client certificate cannot be read");
    }
    names.push([kind, value.startsWith('"') ? (JSON.parse(value) as string) : value]);
    at += whole.length;
  }
  return names;
}

/** A proxy or a library that normalizes `a/../b` must not arrive at another name. */
function isCleanPath(name: string): boolean {
  return name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}
