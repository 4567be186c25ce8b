/**
 * Peers: servers that elect one coordinator among themselves, without any store.
 *
 * Promised: at every moment at most one peer of a cluster is inside its deadline as leader, and no term is ever held by
 * two, as long as clocks keep their rate within the margin and disks keep what was synced. A majority of the electorate
 * decides; the active membership only determines what the electorate is to become.
 *
 * Not promised: a leader when no majority of the electorate can be reached. An electorate of 2 stops when either one is
 * lost. `protocol/peer.ts` explains how it works.
 */
export { PeerElector, type PeerElectorOptions } from "./elector/peer-elector.js";
export { Peer } from "./protocol/peer.js";
export type { PeerEvent } from "./protocol/peer-events.js";
export type { PeerStatus } from "./protocol/peer-status.js";
export type { PeerOptions } from "./protocol/peer-options.js";
export { PeerNode, type NodeHost, type PeerNodeParts } from "./wire/peer-node.js";
export { type GivenNodeOptions, type NodeOptions, parseNodeOptions } from "./wire/peer-node-options.js";
export type { Decision, TxnDecision } from "./decisions/decision.js";
export type { Resource } from "./decisions/resource-manager.js";
export type { StatusShape } from "./wire/status-routes.js";
export { type Call, type CallAnswer, PeerCalls, RefusedCallError } from "./wire/peer-calls.js";
