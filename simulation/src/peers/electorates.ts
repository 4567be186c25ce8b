import type { Configuration } from "@tenure/peers/protocol";
import type { PeerModule } from "./peer-module.js";
import type { SimPeer } from "./sim-peer.js";

/** The newest electorate on any disk. */
export function newestConfig({ compareEpochs }: PeerModule, nodes: readonly SimPeer[]): Configuration | null {
  const configs = nodes.flatMap(({ disk }) => disk.contents.config ?? []);
  return configs.reduce<Configuration | null>(
    (a, b) => (a === null || compareEpochs(b.epoch, a.epoch) > 0 ? b : a),
    null,
  );
}

/** Whether enough voters are there with their disks. */
export function hasMajority(modules: PeerModule, nodes: readonly SimPeer[]): boolean {
  const newest = newestConfig(modules, nodes);
  return newest === null || isMajority(newest, nodes);
}

/** Whether there would be enough without the disk of this one, that also know the electorate. */
export function canLose(modules: PeerModule, nodes: readonly SimPeer[], doomed: SimPeer): boolean {
  const newest = newestConfig(modules, nodes);
  const rest = nodes.filter((node) => node !== doomed && node.disk.contents.config !== null);
  return newest !== null && isMajority(newest, rest);
}

function isMajority(config: Configuration, nodes: readonly SimPeer[]): boolean {
  const members = Object.entries(config.members);
  const there = members.filter(([name, { disk }]) =>
    nodes.some((node) => node.name === name && !node.isGone && node.disk.id === disk),
  );
  return 2 * there.length > members.length;
}
