/**
 * L3, while faults go on: whenever the same majority of the electorate has been able to exchange messages for six ttl, some
 * server must have led in that time.
 *
 * What L3 leaves out, and why. A server is in no group while it is paused or down (it answers nothing), while it is leaving
 * (it does not stand), while its answers are lies (the others take them for no answers), and while the electorate names it
 * over another disk or at another endpoint (its vote does not count, or the others ask for it elsewhere). A group is judged
 * only while each of it can call each other, and while it is a majority by every electorate that one of it has stored, and
 * by the newest on any disk: in the middle of a step two electorates count. A restart begins the six ttl again, because a
 * restarted voter grants nothing for a lease. Lost, late and repeated messages are left out nowhere.
 */
import type { VirtualClock } from "@tenure/core/testing";
import type { Configuration } from "@tenure/peers/protocol";
import { newestConfig } from "./electorates.js";
import type { PeerChecks } from "./peer-checks.js";
import type { PeerModule } from "./peer-module.js";
import type { PeerNetwork } from "./peer-network.js";
import { type SimPeer, TTL_MS } from "./sim-peer.js";

const TICK_MS = TTL_MS / 2;
const LATEST_MS = 6 * TTL_MS;

export interface LivenessOptions {
  readonly modules: PeerModule;
  readonly time: VirtualClock;
  readonly network: PeerNetwork;
  readonly nodes: readonly SimPeer[];
  readonly checks: PeerChecks;
  /** Servers whose answers are lies just now. */
  readonly liars: ReadonlyMap<string, unknown>;
}

export class Liveness {
  readonly #options: LivenessOptions;
  /** By the lives of a majority that can exchange messages: since when. */
  #since: ReadonlyMap<string, number> = new Map();
  #ledMs = 0;
  #isOver = false;

  constructor(options: LivenessOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.time.after(TICK_MS, () => {
      if (this.#isOver) return;
      this.#tick();
      this.start();
    });
  }

  stop(): void {
    this.#isOver = true;
  }

  #tick(): void {
    const { time, checks } = this.#options;
    const nowMs = time.monotonicMs();
    if (checks.leader() !== null) this.#ledMs = nowMs;
    const since = new Map<string, number>();
    for (const key of this.#majorities()) since.set(key, this.#since.get(key) ?? nowMs);
    this.#since = since;
    for (const [key, fromMs] of since) {
      // A majority is seen up to a tick late, and a leader up to a tick after its end.
      if (nowMs - Math.max(fromMs, this.#ledMs) > LATEST_MS + TICK_MS) {
        checks.fail("L3", `${key} could exchange messages for ${nowMs - fromMs} ms, and there is no leader`);
      }
    }
  }

  /** Every group of lives that is a majority of the electorate, by whatever configuration one of them or any disk has. */
  *#majorities(): Iterable<string> {
    const { modules, nodes, liars } = this.#options;
    const newest = newestConfig(modules, nodes);
    if (newest === null) return;
    const able = nodes.filter(
      ({ name, life }) =>
        life !== null && life.clock.isRunning && !life.membership.leaving && !liars.has(name),
    );
    for (let bits = 1; bits < 2 ** able.length; bits++) {
      const group = able.filter((_, index) => (bits & (1 << index)) !== 0);
      const configs = [newest, ...group.flatMap(({ disk }) => disk.contents.config ?? [])];
      if (!configs.every((config) => isMajority(config, group)) || !this.#canTalk(group)) continue;
      yield group.map(({ name, life }) => `${name}.${life?.number}`).join(" ");
    }
  }

  #canTalk(group: readonly SimPeer[]): boolean {
    const { cuts, oneWay } = this.#options.network;
    return group.every((a) =>
      group.every((b) => a === b || !(cuts.has(`${a.name}>${b.name}`) || oneWay.has(`${a.name}>${b.name}`))),
    );
  }
}

function isMajority({ members }: Configuration, group: readonly SimPeer[]): boolean {
  const there = group.filter(({ name, disk, endpoint }) => {
    const member = members[name];
    return member?.disk === disk.id && member.endpoint === endpoint;
  });
  return there.length === group.length && 2 * there.length > Object.keys(members).length;
}
