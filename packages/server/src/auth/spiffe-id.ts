import { parseSpiffeUri, type SpiffeId, urisOf } from "@tenure/core/internal";
import { unauthenticated } from "../service-error.js";

export type { SpiffeId } from "@tenure/core/internal";

/** The SPIFFE id in `PeerCertificate.subjectaltname`. Throws `UNAUTHENTICATED` unless there is exactly one URI, and it is a SPIFFE id. */
export function readSpiffeId(subjectAltName: string | undefined): SpiffeId {
  const uris = urisOf(subjectAltName);
  if (uris === null) {
    throw unauthenticated("the subject alternative names of the client certificate cannot be read");
  }
  const [uri, ...others] = uris;
  if (uri === undefined)
    throw unauthenticated("the client certificate has no URI in its subject alternative names");
  if (others.length > 0) {
    throw unauthenticated(`the client certificate has ${uris.length} URIs; it must have exactly one`);
  }
  const id = parseSpiffeUri(uri);
  if (id === null) {
    throw unauthenticated(
      `the URI of the client certificate, ${JSON.stringify(uri)}, is not spiffe://TRUST-DOMAIN/KIND/NAME`,
    );
  }
  return id;
}
