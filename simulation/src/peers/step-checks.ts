/**
 * What must hold of every step of the electorate. A step is judged at the moment at which its leader first sends it, by what
 * that leader knows then, and again when the leader writes it to its own disk: that is when the leader takes it for done.
 */
import type { Configuration, Epoch, PeerState } from "@tenure/peers/protocol";
import type { PeerChecks } from "./peer-checks.js";
import { ABSURD_TERM } from "./peer-lies.js";
import { DRIFT_RATIO, type SimPeer, TTL_MS } from "./sim-peer.js";

/** The rule is three ttl by the leader's clock, which may run too fast. */
const SILENCE_MS = 3 * (1 - 2 * DRIFT_RATIO) * TTL_MS;

type Members = Configuration["members"];

export class StepChecks {
  readonly #checks: PeerChecks;
  /** By leader, elector and its disk: when the latest round was sent that it is known to have granted. */
  readonly #grantedMs = new Map<string, number>();
  /** By disk: the newest epoch that was ever written to it. */
  readonly #stored = new Map<string, Epoch>();
  /** Every step that was sent, by its epoch. */
  readonly #sent = new Set<string>();

  constructor(checks: PeerChecks) {
    this.#checks = checks;
  }

  /** The leader has heard that a round was granted that it sent at this true time. What is absurd is no answer to it. */
  granted(leader: string, { identity, disk, term, config }: PeerState, sentMs: number): void {
    if (Math.max(term, config?.epoch.term ?? 0) >= ABSURD_TERM) return;
    const key = `${leader} ${identity} ${disk}`;
    this.#grantedMs.set(key, Math.max(sentMs, this.#grantedMs.get(key) ?? 0));
  }

  /** A leader sends a round that carries this electorate. */
  sends(leader: SimPeer, { cluster, epoch, members }: Configuration): void {
    const before = leader.disk.contents.config;
    const key = `${cluster} ${epoch.term} ${epoch.n}`;
    if (before === null || this.#sent.has(key)) return;
    this.#sent.add(key);
    const who = `${leader.name} sends [${epoch.term}, ${epoch.n}]`;
    const changed = changedVoters(before.members, members);
    if (changed.length > 1) this.#fail(`${who}, which changes the voters ${changed.join(", ")}`);
    if (members[leader.name] === undefined) this.#fail(`${who}, which does not name the leader itself`);
    for (const [identity, { disk }] of Object.entries(members)) {
      const isNew = before.members[identity]?.disk !== disk;
      if (isNew && this.#silentMs(leader, identity, disk) > SILENCE_MS)
        this.#fail(`${who}, which adds ${identity} that has granted no round`);
    }
    for (const identity of Object.keys(before.members)) {
      if (members[identity] === undefined) this.#judgeRemoval(leader, before.members, identity);
    }
  }

  /** Before a node writes an electorate. */
  writes({ name, disk, life }: SimPeer, config: Configuration): void {
    const { epoch, members, cluster } = config;
    const before = disk.contents.config;
    if (before !== null && before.cluster !== cluster)
      this.#checks.fail("S12", `${name} goes over from the cluster ${before.cluster} to ${cluster}`);
    const newest = this.#stored.get(disk.id);
    if (newest !== undefined && before?.cluster === cluster && isBelow(epoch, newest))
      this.#checks.fail(
        "S3",
        `${name} writes [${epoch.term}, ${epoch.n}] after [${newest.term}, ${newest.n}]`,
      );
    this.#stored.set(disk.id, epoch);
    if (life === null || before === null || life.peer.leading()?.term !== epoch.term) return;
    for (const [which, voters] of [
      ["old", before.members],
      ["new", members],
    ] as const) {
      if (!this.#isStoredBy(voters, epoch))
        this.#fail(
          `${name} takes [${epoch.term}, ${epoch.n}] for done, which no majority of the ${which} members has stored`,
        );
    }
  }

  #judgeRemoval(leader: SimPeer, members: Members, identity: string): void {
    const { membership } = leader.life ?? {};
    const disk = members[identity]?.disk ?? "";
    if (membership === undefined || membership.left().includes(identity)) return;
    const active = new Map(membership.active().map((each) => [each.identity, each]));
    const announced = active.get(identity);
    if (announced !== undefined && announced.disk !== disk && announced.contested !== true) return;
    const silentMs = this.#silentMs(leader, identity, disk);
    if (announced !== undefined || silentMs < SILENCE_MS) {
      const heard = `granted a round ${silentMs.toFixed(0)} ms ago`;
      this.#checks.fail("S5", `${leader.name} removes ${identity}, which ${announced ? "announces" : heard}`);
      return;
    }
    const silent = Object.entries(members).filter(
      ([each, voter]) => !active.has(each) && this.#silentMs(leader, each, voter.disk) >= SILENCE_MS,
    );
    const size = Object.keys(members).length;
    if (size % 2 === 1 && silent.length < 2)
      this.#fail(`${leader.name} removes ${identity} for silence, which leaves an even ${size - 1}`);
  }

  #silentMs(leader: SimPeer, identity: string, disk: string): number {
    const grantedMs = this.#grantedMs.get(`${leader.name} ${identity} ${disk}`);
    return this.#checks.nowMs - (grantedMs ?? Number.NEGATIVE_INFINITY);
  }

  #isStoredBy(members: Members, epoch: Epoch): boolean {
    const disks = Object.values(members).map(({ disk }) => disk);
    const stored = disks.filter((disk) => {
      const newest = this.#stored.get(disk);
      return newest !== undefined && !isBelow(newest, epoch);
    });
    return 2 * stored.length > disks.length;
  }

  #fail(what: string): void {
    this.#checks.fail("S11", what);
  }
}

/** Identities that are a voter in one of the two and not the same voter in the other. */
function changedVoters(before: Members, after: Members): readonly string[] {
  const all = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...all].filter((identity) => before[identity]?.disk !== after[identity]?.disk);
}

function isBelow(a: Epoch, b: Epoch): boolean {
  return a.term < b.term || (a.term === b.term && a.n < b.n);
}
