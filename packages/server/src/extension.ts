/** Routes that a program adds to the service, and what the service provides to them. */
import type { Socket } from "node:net";
import type { Clock } from "@tenure/core";
import type { FastifyInstance } from "fastify";
import type { BaseLogger } from "pino";
import type { Registry } from "prom-client";
import { verifiedCertificate } from "./auth/client-certificate.js";
import type { ClientTrust } from "./auth/client-trust.js";
import { readSpiffeId, type SpiffeId } from "./auth/spiffe-id.js";
import type { TlsContent, TlsFiles } from "./auth/tls-files.js";

export interface ServerExtension {
  /** A route with `config: { ownIdentity: true }` tells by itself who asks; all others know callers as the service does. */
  mount(app: FastifyInstance, host: ExtensionHost): void | Promise<void>;
}

/** Who a connection belongs to, by its certificate alone. */
export type ConnectionIdentity =
  /** No certificate, or none that TLS could verify, or one that has expired since. */
  | { readonly kind: "none" }
  | { readonly kind: "unnamed"; readonly why: string }
  /** A certificate of another trust domain than the one that this server accepts. */
  | { readonly kind: "foreign"; readonly why: string }
  | { readonly kind: "named"; readonly id: SpiffeId };

export interface ExtensionHost {
  readonly registry: Registry;
  readonly log: Pick<BaseLogger, "info" | "warn" | "error">;
  identify(socket: Socket): ConnectionIdentity;
  /** What the service shows of itself, as files are renewed; `null` without TLS. */
  readonly tls: {
    current(): TlsContent;
    onChange(listener: () => void): () => void;
  } | null;
}

export function extensionHost(
  registry: Registry,
  { log, clock }: { readonly log: ExtensionHost["log"]; readonly clock: Clock },
  tlsFiles: TlsFiles | null,
  trustDomain: string | null,
): ExtensionHost {
  return {
    registry,
    log,
    identify: (socket) => identify(socket, clock.wallMs(), trustDomain, tlsFiles?.trust ?? null),
    tls:
      tlsFiles === null
        ? null
        : {
            current: () => tlsFiles.current,
            onChange: (listener) => tlsFiles.onChange(listener),
          },
  };
}

function identify(
  socket: Socket,
  nowMs: number,
  trustDomain: string | null,
  trust: ClientTrust | null,
): ConnectionIdentity {
  const certificate = verifiedCertificate(socket);
  // TLS looks at the dates once, when the connection begins, and connections last for months.
  if (certificate === undefined || !(nowMs < Date.parse(certificate.valid_to))) return { kind: "none" };
  const problem = trust?.problemOf(socket, nowMs) ?? null;
  if (problem !== null) return { kind: "unnamed", why: `the certificate is no longer trusted: ${problem}` };
  try {
    const id = readSpiffeId(certificate.subjectaltname);
    if (id.trustDomain === trustDomain) return { kind: "named", id };
    return {
      kind: "foreign",
      why: `${id.uri} does not belong to the trust domain ${trustDomain ?? "(none)"}`,
    };
  } catch (error) {
    return { kind: "unnamed", why: (error as Error).message };
  }
}
