/** The code under test, as a value: the built protocol, or a copy of it in which one rule is switched off. */
export type PeerModule = typeof import("@tenure/peers/protocol");

export function loadPeers(): Promise<PeerModule> {
  return import("@tenure/peers/protocol");
}
