/**
 * The trust domain whose certificates this server accepts as callers. An authority may sign for several, a bank's test
 * systems and its production for example, and only one of them may act here.
 *
 * The rule: `--trust-domain`, or else the trust domain of the server's own certificate. Where neither names one the server
 * does not start: to accept every trust domain would be to let the name of a stranger's laptop be an admin's.
 */
import { X509Certificate } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import type { AuthDeps } from "./deps.js";
import { trustDomainOf } from "./spiffe-id.js";
import type { TlsFiles } from "./tls-files.js";

const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;

export function parseTrustDomain(text: string): string {
  if (TRUST_DOMAIN.test(text)) return text;
  throw new InvalidRequestError(
    "trustDomain",
    `is "${text}" and must be 1 to 255 of a-z 0-9 . _ -, such as prod.example.org, without spiffe://`,
  );
}

/** Fixed from the start on: a renewed certificate of another trust domain is served, and is reported. */
export function openTrustDomain(
  given: string | null,
  { cert, files }: { readonly cert: string; readonly files: TlsFiles },
  log: AuthDeps["log"],
): string {
  if (given !== null) return given;
  const own = ownTrustDomain(files);
  if (own === null) {
    throw new InvalidRequestError(
      "trustDomain",
      (nameOf) =>
        `is missing: client certificates are accepted, but ${cert} does not name their trust domain ` +
        `(it has no URI spiffe://TRUST-DOMAIN/…, or several URIs). Set ${nameOf("trustDomain")}, or use a server certificate with one such URI`,
    );
  }
  files.onChange(() => {
    const next = ownTrustDomain(files);
    if (next === own) return;
    log.warn(
      `${cert} now belongs to the trust domain ${next ?? "(none)"}; clients of ${own} are accepted until this server is restarted`,
    );
  });
  return own;
}

function ownTrustDomain(files: TlsFiles): string | null {
  return trustDomainOf(new X509Certificate(files.current.cert).subjectAltName);
}
