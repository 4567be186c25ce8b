/** The messages of peers as JSON and back. Incoming messages are checked, because they decide who leads. */
import { InvalidRequestError } from "@tenure/core";
import { checkId, checkInteger, isObject } from "@tenure/core/internal";
import { normalizeEndpoint } from "../membership/endpoint.js";
import type { Configuration, ConfiguredMember, Epoch, LiveLease, PeerState } from "../protocol/messages.js";
import type { RmEntry, RmVersion } from "../registry/rm-registry.js";

const MAX_NUMBER = Number.MAX_SAFE_INTEGER;
export const MAX_MEMBERS = 1000;

export interface ConfigurationShape {
  readonly cluster: string;
  readonly epoch: readonly [term: number, n: number];
  readonly members: Readonly<Record<string, ConfiguredMember>>;
}

export interface PeerStateShape {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  readonly term: number;
  readonly lease: {
    readonly leader_id: string;
    readonly leader_endpoint: string;
    readonly term: number;
    readonly left_ms: number;
    readonly led: boolean;
  } | null;
  readonly config: ConfigurationShape | null;
  readonly founder: string | null;
  readonly leading: boolean;
}

export function encodeConfiguration({ cluster, epoch, members }: Configuration): ConfigurationShape {
  return { cluster, epoch: [epoch.term, epoch.n], members };
}

export function encodeState({ lease, config, ...rest }: PeerState): PeerStateShape {
  return {
    ...rest,
    lease:
      lease === null
        ? null
        : {
            leader_id: lease.leaderId,
            leader_endpoint: lease.leaderEndpoint,
            term: lease.term,
            left_ms: lease.leftMs,
            led: lease.led,
          },
    config: config === null ? null : encodeConfiguration(config),
  };
}

export function decodeEpoch(value: unknown, field: string): Epoch {
  if (!Array.isArray(value) || value.length !== 2) throw new InvalidRequestError(field, "must be [term, n]");
  const [term, n] = value as [unknown, unknown];
  return {
    term: checkInteger(term, `${field}[0]`, 0, MAX_NUMBER),
    n: checkInteger(n, `${field}[1]`, 0, MAX_NUMBER),
  };
}

export function decodeConfiguration(value: unknown, field: string): Configuration {
  const { cluster, epoch, members } = object(value, field);
  const entries = Object.entries(object(members, `${field}.members`));
  if (entries.length === 0 || entries.length > MAX_MEMBERS) {
    throw new InvalidRequestError(`${field}.members`, `must be 1 to ${MAX_MEMBERS}`);
  }
  return {
    cluster: text(cluster, `${field}.cluster`),
    epoch: decodeEpoch(epoch, `${field}.epoch`),
    members: Object.fromEntries(
      entries.map(([identity, member]) => {
        const place = `${field}.members.${identity}`;
        const { endpoint, disk } = object(member, place);
        return [
          checkId(identity, place),
          { endpoint: text(endpoint, `${place}.endpoint`), disk: text(disk, `${place}.disk`) },
        ];
      }),
    ),
  };
}

export function decodeState(value: unknown): PeerState {
  const { identity, endpoint, disk, term, lease, config, founder, leading } = object(value, "peer");
  return {
    identity: checkId(identity, "peer.identity"),
    endpoint: text(endpoint, "peer.endpoint"),
    disk: text(disk, "peer.disk"),
    term: checkInteger(term, "peer.term", 0, MAX_NUMBER),
    lease: lease === null ? null : decodeLease(lease),
    config: config === null ? null : decodeConfiguration(config, "peer.config"),
    founder: founder === null ? null : text(founder, "peer.founder"),
    leading: leading === true,
  };
}

export interface RmEntryShape {
  readonly backend_hash: string;
  readonly endpoint: string;
  readonly registered: boolean;
  readonly version: readonly [n: number, by: string];
}

export function encodeEntry({ backendHash, endpoint, isRegistered, version }: RmEntry): RmEntryShape {
  const { n, by } = version;
  return { backend_hash: backendHash, endpoint, registered: isRegistered, version: [n, by] };
}

export function decodeVersion(value: unknown, field: string): RmVersion {
  if (!Array.isArray(value) || value.length !== 2) throw new InvalidRequestError(field, "must be [n, by]");
  const [n, by] = value as [unknown, unknown];
  return { n: checkInteger(n, `${field}[0]`, 1, MAX_NUMBER), by: checkId(by, `${field}[1]`) };
}

export function decodeEntry(value: unknown): RmEntry {
  const { backend_hash: hash, endpoint, registered, version } = object(value, "entry");
  return {
    backendHash: checkId(hash, "entry.backend_hash"),
    endpoint: normalizeEndpoint(text(endpoint, "entry.endpoint"), "entry.endpoint"),
    isRegistered: registered === true,
    version: decodeVersion(version, "entry.version"),
  };
}

/**
 * The answer to `GET /v1/tc/rm/list`. An entry that cannot be read is skipped: it must not keep the others from being
 * taken.
 */
export function decodeEntries({ entries }: Readonly<Record<string, unknown>>): readonly RmEntry[] {
  if (!Array.isArray(entries)) throw new InvalidRequestError("entries", "must be a list");
  return entries.flatMap((entry) => {
    try {
      return [decodeEntry(entry)];
    } catch (error) {
      if (error instanceof InvalidRequestError) return [];
      throw error;
    }
  });
}

function decodeLease(value: unknown): LiveLease {
  const lease = object(value, "peer.lease");
  const { left_ms: leftMs } = lease;
  if (typeof leftMs !== "number") throw new InvalidRequestError("peer.lease.left_ms", "must be a number");
  return {
    leaderId: checkId(lease["leader_id"], "peer.lease.leader_id"),
    leaderEndpoint: text(lease["leader_endpoint"], "peer.lease.leader_endpoint"),
    term: checkInteger(lease["term"], "peer.lease.term", 1, MAX_NUMBER),
    leftMs,
    led: lease["led"] === true,
  };
}

function object(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new InvalidRequestError(field, "must be an object");
  return value;
}

function text(value: unknown, field: string): string {
  if (typeof value !== "string" || value === "" || value.length > 2000) {
    throw new InvalidRequestError(field, "must be a string");
  }
  return value;
}
