/** Who a certificate belongs to, by its one URI. Hosts and common names tell nothing. */
import type { X509Certificate } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";

export type CertificateKind = "server" | "tc" | "sdk" | "admin";

export interface SpiffeName {
  readonly trustDomain: string;
  readonly kind: string;
  readonly name: string;
}

const SPIFFE = /^spiffe:\/\/([a-z0-9._-]{1,255})\/([a-z]+)\/([A-Za-z0-9._:/-]{1,200})$/;
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;

export function checkTrustDomain(text: string): string {
  if (!TRUST_DOMAIN.test(text)) {
    throw new InvalidRequestError("trust-domain", `is "${text}" and must be of a-z 0-9 . _ -`);
  }
  return text;
}

export function spiffeUri({ trustDomain, kind, name }: SpiffeName): string {
  return `spiffe://${trustDomain}/${kind}/${name}`;
}

/** `null` unless it has exactly one URI, and that is a SPIFFE id. */
export function spiffeNameOf({ subjectAltName }: X509Certificate): SpiffeName | null {
  const uris = (subjectAltName ?? "").split(", ").filter((each) => each.startsWith("URI:"));
  const [, trustDomain, kind, name] = SPIFFE.exec(uris[0]?.slice("URI:".length) ?? "") ?? [];
  if (uris.length !== 1 || trustDomain === undefined || kind === undefined || name === undefined) return null;
  return { trustDomain, kind, name };
}
