/**
 * Who asks, by the client certificate of the connection. Whether it was issued by the right authority is the business
 * of TLS; here it is only read.
 */
import type { Socket } from "node:net";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { isId } from "@tenure/core/internal";
import type { Caller } from "./caller.js";
import { unauthenticated } from "../service-error.js";
import { readSpiffeId } from "./spiffe-id.js";

interface Read {
  readonly caller: Caller;
  readonly trustDomain: string;
  readonly validToMs: number;
}

/** Reading a certificate costs more than a renewal; it does not change while its connection lasts. */
const read = new WeakMap<PeerCertificate, Read>();
const certificates = new WeakMap<Socket, PeerCertificate>();

/** The certificate that TLS has verified on this connection, the same object each time. */
export function verifiedCertificate(socket: Socket): PeerCertificate | undefined {
  const { authorized } = socket as Partial<TLSSocket>;
  if (authorized !== true) return undefined;
  let certificate = certificates.get(socket);
  if (certificate === undefined) {
    certificate = (socket as TLSSocket).getPeerCertificate();
    // A resumed session counts as authorized even where no certificate was ever shown.
    if ((certificate as Partial<PeerCertificate> | null)?.raw === undefined) return undefined;
    certificates.set(socket, certificate);
  }
  return certificate;
}

/** Why the certificate that a client showed was not verified; `null` if none was shown, or it was verified. */
export function certificateProblem(socket: Socket | undefined): string | null {
  const { authorized, authorizationError } = (socket ?? {}) as Partial<TLSSocket>;
  if (authorized !== false || authorizationError === undefined || authorizationError === null) return null;
  const shown = (socket as TLSSocket).getPeerCertificate() as Partial<PeerCertificate> | null;
  return shown?.raw === undefined ? null : String(authorizationError);
}

/** A node may take part in all groups: a certificate has no place to name some. */
export function callerOfCertificate(
  certificate: PeerCertificate,
  nowMs: number,
  trustDomain?: string,
): Caller {
  let known = read.get(certificate);
  if (known === undefined) {
    known = readCertificate(certificate);
    read.set(certificate, known);
  }
  if (trustDomain !== undefined && known.trustDomain !== trustDomain) {
    throw unauthenticated(
      `the client certificate belongs to the trust domain ${known.trustDomain}; this service accepts ${trustDomain}`,
    );
  }
  // TLS looks at the dates once, when the connection begins, and connections last for months.
  if (!(nowMs < known.validToMs)) {
    throw unauthenticated(
      `the client certificate of ${known.caller.name} expired on ${certificate.valid_to}`,
    );
  }
  return known.caller;
}

function readCertificate(certificate: PeerCertificate): Read {
  const { uri, trustDomain, kind, name } = readSpiffeId(certificate.subjectaltname);
  if (kind !== "sdk" && kind !== "admin") {
    throw unauthenticated(
      `the client certificate is for a ${kind} (${uri}); nodes need spiffe://…/sdk/NODE, admins spiffe://…/admin/NAME`,
    );
  }
  if (!isId(name))
    throw unauthenticated(`the name in ${uri}, the URI of the client certificate, is not a valid id`);
  const caller: Caller =
    kind === "sdk"
      ? { kind: "certificate", role: "node", name, groups: null }
      : { kind: "certificate", role: "admin", name };
  return { caller: Object.freeze(caller), trustDomain, validToMs: Date.parse(certificate.valid_to) };
}
