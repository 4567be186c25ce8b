/** The code under test, as a value: the built parts of a node, or a copy of them in which one rule is switched off. */
export type PeerModule = typeof import("@tenure/peers/parts");

export function loadPeers(): Promise<PeerModule> {
  return import("@tenure/peers/parts");
}
