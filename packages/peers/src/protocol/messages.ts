/**
 * The messages between peers, and the ports of the protocol: the network (`PeerTransport`), the membership
 * (`MembershipView`) and the disk (`PeerDisk`). The rules do not depend on HTTP, certificates or files.
 */
import type { CallOptions } from "@tenure/core";

/** Compared term first, then n. */
export interface Epoch {
  readonly term: number;
  readonly n: number;
}

/** One voter: an identity with its disk. The same identity over another disk is another voter. */
export interface ConfiguredMember {
  readonly endpoint: string;
  readonly disk: string;
}

/** The electorate as a peer knows it. `cluster` is the disk id of the founder. */
export interface Configuration {
  readonly cluster: string;
  readonly epoch: Epoch;
  /** By identity. */
  readonly members: Readonly<Record<string, ConfiguredMember>>;
}

export interface LiveLease {
  readonly leaderId: string;
  readonly leaderEndpoint: string;
  readonly term: number;
  /** On the answering peer's own clock. */
  readonly leftMs: number;
  /** The answering peer has seen the holder renew, so the holder has won. A candidate's lease is not led. */
  readonly led: boolean;
}

/** What every answer shows of the peer, as of the decision it answers. */
export interface PeerState {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  /** The highest term it has granted. */
  readonly term: number;
  readonly lease: LiveLease | null;
  readonly config: Configuration | null;
  /** The smallest endpoint of its join list; null without one. */
  readonly founder: string | null;
  /** Whether this peer itself leads (inside its deadline, and its first step is done). */
  readonly leading: boolean;
}

export interface AcquireRequest {
  readonly candidateId: string;
  readonly candidateEndpoint: string;
  readonly term: number;
  readonly ttlMs: number;
  readonly cluster: string;
  readonly epoch: Epoch;
}

export interface RenewRequest {
  readonly leaderId: string;
  readonly leaderEndpoint: string;
  readonly term: number;
  readonly ttlMs: number;
  readonly config: Configuration;
}

export interface ReleaseRequest {
  readonly leaderId: string;
  readonly term: number;
}

export type VoteRefusal =
  | "lease-active"
  | "term-stale"
  | "epoch-stale"
  | "other-cluster"
  | "not-holder"
  | "released"
  /** So far above every term granted here that no election can have led to it, or below that of its own electorate. */
  | "term-absurd"
  /** The ttl is above that of the voter. */
  | "ttl-too-long"
  /** The electorate does not contain the caller. */
  | "not-an-elector";

/** Every refusal, with its name on the wire. */
export const VOTE_REFUSALS: readonly VoteRefusal[] = [
  "lease-active",
  "term-stale",
  "epoch-stale",
  "other-cluster",
  "not-holder",
  "released",
  "term-absurd",
  "ttl-too-long",
  "not-an-elector",
];

export type LeaseVerdict =
  | { readonly granted: true; readonly state: PeerState }
  | { readonly granted: false; readonly refusal: VoteRefusal; readonly state: PeerState };

export interface ReleaseVerdict {
  readonly released: boolean;
  readonly state: PeerState;
}

/**
 * The answers of a peer: implemented by the protocol (`Voter`), served by the wire. The wire has already checked that
 * the caller's certificate names `candidateId` or `leaderId`. Rejects if the disk failed: then there is no answer.
 */
export interface PeerAnswers {
  acquire(request: AcquireRequest): Promise<LeaseVerdict>;
  renew(request: RenewRequest): Promise<LeaseVerdict>;
  release(request: ReleaseRequest): Promise<ReleaseVerdict>;
  state(): PeerState;
}

/** How a peer asks other peers: implemented by the wire, with the server's own certificate. Rejects if no answer came. */
export interface PeerTransport {
  acquire(endpoint: string, request: AcquireRequest, options?: CallOptions): Promise<LeaseVerdict>;
  renew(endpoint: string, request: RenewRequest, options?: CallOptions): Promise<LeaseVerdict>;
  release(endpoint: string, request: ReleaseRequest, options?: CallOptions): Promise<ReleaseVerdict>;
  state(endpoint: string, options?: CallOptions): Promise<PeerState>;
}

export interface ActiveMember {
  readonly identity: string;
  readonly endpoint: string;
  readonly disk: string;
  /** Two disks announce themselves alternately under this identity: one bundle runs on two servers. */
  readonly contested?: boolean;
}

/** The active membership: kept by the wire side (announce, leave, expiry), read by the protocol. */
export interface MembershipView {
  /** The servers that have not expired, including this one while it is announced. */
  active(): readonly ActiveMember[];
  /** Identities that left voluntarily (not merely expired) and have not announced themselves since. */
  left(): readonly string[];
  /** This node itself is leaving. */
  readonly leaving: boolean;
}

/** The highest term granted, its holder, and the ttl of its lease. */
export interface Vote {
  readonly term: number;
  readonly holderId: string;
  readonly holderEndpoint: string;
  readonly ttlMs: number;
}

export interface DiskContents {
  readonly vote: Vote | null;
  readonly config: Configuration | null;
}

/** What a peer keeps on disk, synced before `write` resolves. Read once, at the start. */
export interface PeerDisk {
  /** Random, created when the disk is first used. */
  readonly id: string;
  read(): DiskContents;
  write(change: { readonly vote?: Vote; readonly config?: Configuration }): Promise<void>;
}
