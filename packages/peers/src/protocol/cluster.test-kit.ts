/** Some peers in one process, in virtual time: messages take no time by default, links can be cut, disks are kept. */
import { type ProcessClock, VirtualClock } from "@tenure/core/testing";
import type {
  ActiveMember,
  DiskContents,
  MembershipView,
  PeerAnswers,
  PeerDisk,
  PeerTransport,
} from "./messages.js";
import { Peer } from "./peer.js";
import type { PeerEvent } from "./peer-events.js";
import type { PeerOptions } from "./peer-options.js";

export const TTL_MS = 1000;

export class MemoryDisk implements PeerDisk {
  readonly id: string;
  contents: DiskContents;
  /** The next write waits until this is resolved. */
  gate: Promise<void> = Promise.resolve();
  writes = 0;

  constructor(id: string, contents: Partial<DiskContents> = {}) {
    this.id = id;
    this.contents = { vote: null, config: null, ...contents };
  }

  read(): DiskContents {
    return this.contents;
  }

  async write(change: Parameters<PeerDisk["write"]>[0]): Promise<void> {
    await this.gate;
    this.writes++;
    this.contents = { ...this.contents, ...change };
  }
}

export class TestMembership implements MembershipView {
  members: readonly ActiveMember[] = [];
  gone: readonly string[] = [];
  leaving = false;

  active(): readonly ActiveMember[] {
    return this.members;
  }

  left(): readonly string[] {
    return this.gone;
  }
}

export interface TestPeer {
  readonly name: string;
  /** Killed by a crash; `null` if the test gave its own clock. */
  readonly process: ProcessClock | null;
  readonly peer: Peer;
  readonly membership: TestMembership;
  readonly events: PeerEvent[];
}

export class Cluster {
  readonly clock: VirtualClock = new VirtualClock();
  readonly disks: Map<string, MemoryDisk> = new Map();
  readonly running: Map<string, TestPeer> = new Map();
  /** `a>b`: no message gets from a to b. */
  readonly cuts: Set<string> = new Set();
  /** Every call, as `a>b verb`. */
  readonly calls: string[] = [];
  /** What happens to a request before it arrives. */
  onCall: (call: string) => Promise<void> = () => Promise.resolve();
  #random = 0;

  /** Started together, with each other in their join lists, and active members of each other. */
  start(names: string, options: Partial<PeerOptions> = {}): void {
    const members = Array.from(names).map((name) => this.member(name));
    for (const name of names) {
      this.startOne(name, { join: members.map((member) => member.endpoint), ...options });
      this.get(name).membership.members = members;
    }
  }

  startOne(name: string, options: Partial<PeerOptions> = {}): TestPeer {
    const membership = new TestMembership();
    const process = options.clock === undefined ? this.clock.process() : null;
    const peer = Peer.start({
      identity: name,
      endpoint: name,
      join: [name],
      ttlMs: TTL_MS,
      clock: process ?? this.clock,
      random: () => (this.#random = (this.#random + 0.37) % 1),
      disk: this.#mount(name, process),
      transport: this.transport(name),
      membership,
      ...options,
    });
    const events: PeerEvent[] = [];
    peer.on((event) => events.push(event));
    const running = { name, process, peer, membership, events };
    this.running.set(name, running);
    return running;
  }

  disk(name: string): MemoryDisk {
    const disk = this.disks.get(name) ?? new MemoryDisk(`disk-${name}`);
    this.disks.set(name, disk);
    return disk;
  }

  member(name: string): ActiveMember {
    return { identity: name, endpoint: name, disk: this.disk(name).id };
  }

  get(name: string): TestPeer {
    const running = this.running.get(name);
    if (running === undefined) throw new Error(`${name} does not run`);
    return running;
  }

  /** The process ends: none of its timers fires, no call arrives, and no write reaches the disk. */
  crash(name: string): void {
    this.get(name).process?.kill();
    this.running.delete(name);
  }

  /** The disk as used by one start of the peer. */
  #mount(name: string, process: ProcessClock | null): PeerDisk {
    const disk = this.disk(name);
    const isDead = (): boolean => process?.isKilled === true;
    return {
      id: disk.id,
      read: () => disk.read(),
      write: (change) => (isDead() ? new Promise(() => {}) : disk.write(change)),
    };
  }

  cut(a: string, others: string): void {
    for (const b of others) this.cuts.add(`${a}>${b}`).add(`${b}>${a}`);
  }

  heal(): void {
    this.cuts.clear();
  }

  electorate(name: string): string {
    return Object.keys(this.get(name).peer.answers.state().config?.members ?? {})
      .toSorted()
      .join("");
  }

  leader(): string | null {
    const leaders = [...this.running.values()].filter(({ peer }) => peer.isLeader());
    if (leaders.length > 1) throw new Error(`${leaders.map(({ name }) => name).join(" and ")} lead`);
    return leaders[0]?.name ?? null;
  }

  /** Runs until `condition` is true; a condition that is not true within 20 ttl is a failure. */
  async until(condition: () => boolean): Promise<void> {
    const endMs = this.clock.monotonicMs() + 20 * TTL_MS;
    while (!condition()) {
      if (this.clock.monotonicMs() > endMs) throw new Error("waited in vain");
      await this.clock.advance(5);
    }
  }

  async untilLed(): Promise<string> {
    await this.until(() => this.leader() !== null);
    return this.leader() as string;
  }

  /** Started together, and run until one of them leads and all know it. */
  async elected(names: string): Promise<string> {
    this.start(names);
    const leader = await this.untilLed();
    const isKnownTo = (name: string): boolean => this.get(name).peer.observedLeader()?.leaderId === leader;
    await this.until(() => Array.from(names).every(isKnownTo));
    return leader;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running.values()].map(({ peer }) => peer.stop()));
    this.clock.stop();
  }

  transport(from: string): PeerTransport {
    return {
      acquire: (to, request) => this.#call(from, to, "acquire", (peer) => peer.acquire(request)),
      renew: (to, request) => this.#call(from, to, "renew", (peer) => peer.renew(request)),
      release: (to, request) => this.#call(from, to, "release", (peer) => peer.release(request)),
      state: (to) => this.#call(from, to, "state", async (peer) => peer.state()),
    };
  }

  async #call<T>(
    from: string,
    to: string,
    verb: string,
    run: (answers: PeerAnswers) => Promise<T>,
  ): Promise<T> {
    const life = this.running.get(from);
    await this.onCall(`${from}>${to} ${verb}`);
    this.calls.push(`${from}>${to} ${verb}`);
    const target = this.running.get(to);
    // A crashed process makes no call; a caller that was restarted meanwhile is another process.
    const isAlive = life !== undefined && life === this.running.get(from);
    if (target === undefined || !isAlive || this.cuts.has(`${from}>${to}`)) {
      throw new Error("connection refused");
    }
    const answer = await run(target.peer.answers);
    if (this.cuts.has(`${to}>${from}`)) throw new Error("connection lost");
    return answer;
  }
}

/** The others, as one string of names. */
export function without(names: string, name: string): string {
  return names.replace(name, "");
}
