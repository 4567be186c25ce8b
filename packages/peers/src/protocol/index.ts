/** The protocol of quorum leases: rules, and the loop that carries them out over injected ports. */
export { compareEpochs } from "./configuration.js";
export type { LeaveOutcome } from "./leaving.js";
export type {
  AcquireRequest,
  ActiveMember,
  Configuration,
  ConfiguredMember,
  DiskContents,
  Epoch,
  LeaseVerdict,
  LiveLease,
  MembershipView,
  PeerAnswers,
  PeerDisk,
  PeerState,
  PeerTransport,
  ReleaseRequest,
  ReleaseVerdict,
  RenewRequest,
  Vote,
  VoteRefusal,
} from "./messages.js";
export type { ObservedLeader } from "./observations.js";
export { Peer } from "./peer.js";
export type { PeerEvent } from "./peer-events.js";
export type { PeerOptions } from "./peer-options.js";
export type {
  HeldBack,
  HeldBackReason,
  MissingElector,
  NotStanding,
  NotStandingReason,
  PeerStatus,
} from "./peer-status.js";
export type { LossCause } from "./term-loop.js";
export { Voter, type VoterOptions } from "./voter.js";
