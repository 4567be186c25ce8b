/**
 * Whether a client certificate is still trusted. TLS decides that once, when a connection begins, by the files of that
 * moment; connections last for months. When an authority or a revocation list is replaced, this decides again for those
 * that are open, by the files of now.
 *
 * It only ever takes trust away: what it is asked about was verified by OpenSSL before. A chain counts if its signatures
 * lead to an authority of now and no certificate in it is revoked or over.
 */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { isRevoked, type RevocationList } from "./revocation-list.js";

interface Verdict {
  readonly trust: ClientTrust;
  readonly problem: string | null;
  /** The end of the shortest-lived certificate of the chain. */
  readonly untilMs: number;
}

const MAX_DEPTH = 8;
const MAX_INTERMEDIATES = 1000;
const verdicts = new WeakMap<Socket, Verdict>();

/** Certificates between clients and authorities. A connection that resumes a session shows its leaf only. */
export class Intermediates {
  readonly #byFingerprint = new Map<string, X509Certificate>();

  /** Of a connection that OpenSSL has verified. The one that was seen first is forgotten first. */
  learn(chain: readonly X509Certificate[]): void {
    for (const each of chain.slice(1)) {
      this.#byFingerprint.set(each.fingerprint256, each);
      if (this.#byFingerprint.size > MAX_INTERMEDIATES) {
        this.#byFingerprint.delete(this.#byFingerprint.keys().next().value ?? "");
      }
    }
  }

  all(): Iterable<X509Certificate> {
    return this.#byFingerprint.values();
  }
}

export class ClientTrust {
  readonly #authorities: readonly X509Certificate[];
  readonly #lists: readonly RevocationList[];
  readonly #intermediates: Intermediates;

  constructor(
    authorities: readonly X509Certificate[],
    lists: readonly RevocationList[],
    intermediates: Intermediates,
  ) {
    this.#authorities = authorities;
    this.#lists = lists;
    this.#intermediates = intermediates;
  }

  /** Why the client certificate of this connection is not trusted any more; `null` if it is. */
  problemOf(socket: Socket, nowMs: number): string | null {
    let verdict = verdicts.get(socket);
    if (verdict?.trust !== this) {
      verdict = { trust: this, ...this.#judge(chainOf(socket)) };
      verdicts.set(socket, verdict);
    }
    if (verdict.problem === null && nowMs >= verdict.untilMs) return "a certificate of its chain has expired";
    return verdict.problem;
  }

  /** Whether somebody who was trusted by the other one may not be trusted by this one. */
  takesBackFrom(before: ClientTrust): boolean {
    const kept = new Set(this.#authorities.map((each) => each.fingerprint256));
    if (before.#authorities.some((each) => !kept.has(each.fingerprint256))) return true;
    return this.#lists.some(({ issuer, serials }) => {
      const known = before.#lists.filter((each) => each.issuer === issuer);
      for (const serial of serials) if (!known.some((each) => each.serials.has(serial))) return true;
      return false;
    });
  }

  #judge(chain: readonly X509Certificate[]): Omit<Verdict, "trust"> {
    const [leaf, ...shown] = chain;
    if (leaf === undefined) return { problem: "it is no longer known", untilMs: 0 };
    const issuers = [...this.#authorities, ...shown, ...this.#intermediates.all()];
    const isAuthority = new Set(this.#authorities.map((each) => each.fingerprint256));
    let problem =
      "its authority is not, or no longer, a client authority; " +
      "--tls-client-ca needs the intermediate authorities too if the server runs on Node 24";
    // No certificate twice in one chain: authorities may have signed each other.
    const path = new Set<X509Certificate>();
    const search = (certificate: X509Certificate, untilMs: number): number | null => {
      const depth = path.size;
      if (isRevoked(certificate, this.#lists)) {
        problem = depth === 0 ? "it was revoked" : "an authority of its chain was revoked";
        return null;
      }
      const ownUntilMs = Math.min(untilMs, Date.parse(certificate.validTo));
      if (isAuthority.has(certificate.fingerprint256)) return ownUntilMs;
      if (depth === MAX_DEPTH) return null;
      path.add(certificate);
      let best: number | null = null;
      for (const issuer of issuers) {
        if (path.has(issuer) || !certificate.checkIssued(issuer)) continue;
        if (!certificate.verify(issuer.publicKey)) continue;
        const found = search(issuer, ownUntilMs);
        if (found !== null && (best === null || found > best)) best = found;
      }
      path.delete(certificate);
      return best;
    };
    const untilMs = search(leaf, Number.POSITIVE_INFINITY);
    return untilMs === null ? { problem, untilMs: 0 } : { problem: null, untilMs };
  }
}

/** The leaf, and what the client showed besides. */
export function chainOf(socket: Socket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = (socket as Partial<TLSSocket>).getPeerX509Certificate?.();
  while (next !== undefined && chain.length < MAX_DEPTH) {
    chain.push(next);
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate;
  }
  return chain;
}
