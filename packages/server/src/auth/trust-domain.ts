/**
 * The trust domain whose certificates this server accepts as callers. An authority may sign for several trust domains, such as
 * the test systems and the production of a bank, and only one of them may act here.
 *
 * The rule: `--trust-domain`, or else the trust domain of the server's own certificate. If neither names a trust domain, the
 * server does not start: a server that accepts every trust domain also accepts admins of the test systems.
 */
import { X509Certificate } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { trustDomainOf } from "@tenure/core/internal";
import type { AuthDeps } from "./deps.js";
import type { TlsFiles } from "./tls-files.js";

export { parseTrustDomain } from "@tenure/core/internal";

/** The trust domain is fixed at the start. A renewed certificate of another trust domain is used, and a warning is logged. */
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
