import type { X509Certificate } from "node:crypto";
import { isSpiffeName, parseSpiffeUri, type SpiffeName, urisOf } from "@tenure/core/internal";

export type CertificateKind = "server" | "tc" | "sdk" | "admin";

/** The owner of a certificate, by its only URI. Host names and common names do not count. `null` if the URI is not a SPIFFE id. */
export function spiffeNameOf({ subjectAltName }: X509Certificate): SpiffeName | null {
  const uris = urisOf(subjectAltName) ?? [];
  const id = uris.length === 1 ? parseSpiffeUri(uris[0] ?? "") : null;
  if (id === null || !isSpiffeName(id.name)) return null;
  return { trustDomain: id.trustDomain, kind: id.kind, name: id.name };
}
