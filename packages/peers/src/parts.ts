/**
 * The parts of a node below the wire. For the simulation, which combines them with its own network, stores and clocks;
 * a program uses `PeerNode`.
 */
export { Decider } from "./decisions/decider.js";
export { DecisionLog } from "./decisions/decision-log.js";
export { Retention } from "./decisions/retention.js";
export { ResourceManager } from "./decisions/resource-manager.js";
export { OwnRecords } from "./disk/own-records.js";
export { Uptime } from "./disk/uptime.js";
export { Announcer } from "./membership/announcer.js";
export { Membership } from "./membership/membership.js";
export { compareEpochs } from "./protocol/configuration.js";
export { MEMBER_LEASES } from "./protocol/electorate.js";
export { Peer } from "./protocol/peer.js";
export { RmRegistry } from "./registry/rm-registry.js";
export { RmReplicator } from "./registry/rm-replicator.js";
export { SelfRegistration } from "./registry/self-registration.js";
export type { Callers } from "./wire/callers.js";
export { decodeHeld, encodeHeld } from "./wire/decision-codec.js";
export { Offices } from "./wire/offices.js";
