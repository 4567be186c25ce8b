/** `GET /v1/tc/status`: what a server reports to its operator, and an answer to every route that does not exist. */
import { X509Certificate } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Peer } from "../protocol/peer.js";
import type { PeerStatus } from "../protocol/peer-status.js";
import type { Callers } from "./callers.js";
import { type ConfigurationShape, encodeConfiguration } from "./codec.js";
import type { CallTls } from "./peer-calls.js";
import { OWN_IDENTITY } from "./route.js";
import { WireError } from "./wire-error.js";

export interface StatusRouteParts {
  readonly callers: Callers;
  readonly peer: () => Peer;
  /** The server's own certificate; `null` without TLS. */
  readonly tls: () => CallTls | null;
  readonly undelivered: () => number;
}

export interface CertificateShape {
  /** As it was given to `tenure ca issue`. */
  readonly name: string;
  readonly serial: string;
  readonly expires_at: string;
}

export interface ReasonShape {
  readonly reason: string;
  readonly detail: string;
  readonly for_ms: number;
}

export interface StatusShape {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  readonly ttl_ms: number;
  readonly term: number;
  readonly is_leader: boolean;
  readonly is_elector: boolean;
  readonly electorate: ConfigurationShape | null;
  readonly members: readonly { readonly identity: string; readonly endpoint: string }[];
  readonly leader: {
    readonly leader_id: string;
    readonly leader_endpoint: string;
    readonly term: number;
  } | null;
  readonly missing: readonly { readonly identity: string; readonly endpoint: string }[];
  /** Why a change of the electorate that is due is not made. */
  readonly held_back: ReasonShape | null;
  /** Why this server does not campaign. */
  readonly not_standing: ReasonShape | null;
  readonly undelivered: number;
  readonly certificate: CertificateShape | null;
}

export function statusRoutes(app: FastifyInstance, parts: StatusRouteParts): void {
  const { callers, peer, tls, undelivered } = parts;

  app.get("/v1/tc/status", OWN_IDENTITY, async ({ raw }): Promise<StatusShape> => {
    callers.client(raw.socket);
    const own = tls();
    return {
      ...encodeStatus(peer().status()),
      undelivered: undelivered(),
      certificate: own === null ? null : certificateOf(own),
    };
  });

  for (const url of ["/v1/tc/*", "/v1/rm/*"]) {
    app.all(url, OWN_IDENTITY, async ({ raw, method }) => {
      callers.client(raw.socket);
      throw new WireError(
        "tc_unknown_route",
        `there is no ${method} ${raw.url ?? ""}; docs/PEERS.md lists the routes`,
      );
    });
  }
}

function encodeStatus(status: PeerStatus): Omit<StatusShape, "undelivered" | "certificate"> {
  const { identity, endpoint, disk, ttlMs, term, electorate, leader, heldBack, notStanding } = status;
  const place = ({
    identity: id,
    endpoint: at,
  }: {
    identity: string;
    endpoint: string;
  }): object & {
    identity: string;
    endpoint: string;
  } => ({ identity: id, endpoint: at });
  return {
    identity,
    endpoint,
    disk,
    ttl_ms: ttlMs,
    term,
    is_leader: status.isLeader,
    is_elector: status.isElector,
    electorate: electorate === null ? null : encodeConfiguration(electorate),
    members: status.members.map(place),
    leader:
      leader === null
        ? null
        : { leader_id: leader.leaderId, leader_endpoint: leader.leaderEndpoint, term: leader.term },
    missing: status.missing.map(place),
    held_back: encodeReason(heldBack),
    not_standing: encodeReason(notStanding),
  };
}

function encodeReason(
  why: { readonly reason: string; readonly detail: string; readonly forMs: number } | null,
): ReasonShape | null {
  return why === null ? null : { reason: why.reason, detail: why.detail, for_ms: Math.round(why.forMs) };
}

function certificateOf({ cert }: CallTls): CertificateShape {
  const certificate = new X509Certificate(cert);
  return {
    name: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? "",
    serial: certificate.serialNumber.toLowerCase(),
    expires_at: new Date(certificate.validTo).toISOString(),
  };
}
