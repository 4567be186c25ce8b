/** Role managers in virtual time over one memory store; each process has its own clocks and elector. */
import { type CampaignRequest, type Elector, MemoryStore, StoreElector } from "@tenure/core";
import { FaultyStore, noFaults, type ProcessClock, Random, VirtualClock } from "@tenure/core/testing";
import type { RoleManagerOptions, RoleOptions } from "./options.js";
import { RoleManager } from "./role-manager.js";

export interface Participant {
  readonly nodeId: string;
  readonly manager: RoleManager;
  readonly clock: ProcessClock;
  readonly elector: StoreElector;
  /** The calls of its hooks, in order. */
  readonly log: string[];
}

export interface ParticipantOptions extends Partial<RoleManagerOptions> {
  readonly roles?: Readonly<Record<string, RoleOptions>>;
  readonly over?: (elector: Elector) => Elector;
  /** The work done while leading a role. */
  readonly work?: (role: string, signal: AbortSignal, clock: ProcessClock) => Promise<void>;
}

export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: MemoryStore = new MemoryStore();
  readonly random: Random = new Random(1);
  readonly participants: Participant[] = [];

  /** A process with those roles that logs what happens to it; not yet started. */
  participant(nodeId: string, { roles = {}, work, ...options }: ParticipantOptions = {}): Participant {
    const participant = this.bare(nodeId, options);
    const { manager, clock, log } = participant;
    manager.onRolePromote((role, { term }, signal) => {
      log.push(`promote ${role} ${term}`);
      signal.addEventListener("abort", () => log.push(`abort ${role}`));
      return work?.(role, signal, clock);
    });
    manager.onRoleDemote((role, reason) => log.push(`demote ${role} ${reason}`));
    for (const [name, each] of Object.entries(roles)) manager.add(name, each);
    return participant;
  }

  /** A process without roles and hooks. */
  bare(nodeId: string, { over, ...options }: Omit<ParticipantOptions, "roles" | "work"> = {}): Participant {
    const clock = this.clock.process();
    // A killed or paused process gets neither its timers nor answers of the store.
    const { store, random } = this;
    const near = new FaultyStore({ store, random, time: this.clock, plan: noFaults(), gate: clock });
    const elector = StoreElector.open({ store: near, clock });
    const manager = new RoleManager(over?.(elector) ?? elector, {
      nodeId,
      ttlMs: 1000,
      clock,
      random: () => this.random.next(),
      ...options,
    });
    const participant = { nodeId, manager, clock, elector, log: [] };
    this.participants.push(participant);
    return participant;
  }

  /** Lets virtual time pass until `work` has settled. Rejects if that takes longer than `limitMs`. */
  async until<T>(work: Promise<T>, limitMs = 120_000): Promise<T> {
    const startMs = this.clock.monotonicMs();
    let isDone = false;
    const mark = () => (isDone = true);
    work.then(mark, mark);
    while (!isDone) {
      if (this.clock.monotonicMs() - startMs > limitMs) throw new Error(`not settled after ${limitMs} ms`);
      await this.clock.advance(1);
    }
    return work;
  }

  /** The leader of each group, from the store. */
  async leaders(groupIds: readonly string[]): Promise<Map<string, string | null>> {
    const [asked] = this.participants.slice(-1) as [Participant];
    const found = await this.until(
      Promise.all(
        groupIds.map(
          async (groupId) => [groupId, (await asked.elector.leader(groupId)).leader?.nodeId ?? null] as const,
        ),
      ),
    );
    return new Map(found);
  }

  async close(): Promise<void> {
    const alive = this.participants.filter(({ clock }) => !clock.isKilled);
    for (const { clock } of alive) if (!clock.isRunning) clock.resume();
    const closed = Promise.all(
      alive.map(async ({ manager, elector }) => {
        await manager.stop();
        await elector.close();
      }),
    );
    await this.until(closed);
  }
}

/** Roles named `r0`, `r1`, ... without any options. */
export function plainRoles(count: number): Record<string, RoleOptions> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`r${index}`, {}]));
}

/** Counts the calls of an elector. */
export function counting(counts: Record<string, number>): (elector: Elector) => Elector {
  return (elector) =>
    new Proxy(elector, {
      get(target, property) {
        const value = Reflect.get(target, property, target) as unknown;
        if (typeof value !== "function") return value;
        return (...args: [CampaignRequest]) => {
          const name = String(property);
          counts[name] = (counts[name] ?? 0) + 1;
          return (value as (...given: unknown[]) => unknown).apply(target, args);
        };
      },
    });
}
