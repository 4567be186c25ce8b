/**
 * The groups of a bench: below a prefix of its own, made by it and deleted by it, however it ends. Their names are the
 * same each time, because the record of a group is never removed altogether.
 */
import { ConflictError, type ElectorAdmin } from "@tenure/core";
import { allGroups } from "../commands/groups-command.js";

const AT_ONCE = 32;
const BY = "tenure-bench";

export class BenchGroups {
  readonly ids: readonly string[];
  readonly failoverId: string;
  readonly #elector: ElectorAdmin;
  readonly #made: string[] = [];

  private constructor(elector: ElectorAdmin, prefix: string, count: number) {
    this.#elector = elector;
    this.ids = Array.from({ length: count }, (_, index) => `${prefix}/${index}`);
    this.failoverId = `${prefix}/failover`;
  }

  /** Refuses if a group below the prefix has a leader: another benchmark runs, or the groups belong to a program. */
  static async make(
    elector: ElectorAdmin,
    prefix: string,
    count: number,
    signal: AbortSignal,
  ): Promise<BenchGroups> {
    for await (const { groupId, leader } of allGroups(elector, `${prefix}/`, signal)) {
      if (leader === null) continue;
      throw new ConflictError(
        `${leader.nodeId} leads ${groupId}, a group of the benchmark; wait until the other benchmark has finished, or use another --prefix`,
      );
    }
    const groups = new BenchGroups(elector, prefix, count);
    try {
      await inParallel([...groups.ids, groups.failoverId], async (groupId) => {
        signal.throwIfAborted();
        // Without the signal: after an abort it would be unknown whether there is a group to delete.
        // A benchmark that was killed may have left the group behind; it has no leader.
        await elector.createGroup({ groupId }).catch((error: unknown) => {
          if (!(error instanceof ConflictError)) throw error;
        });
        groups.#made.push(groupId);
      });
      return groups;
    } catch (error) {
      await groups.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await inParallel(this.#made.splice(0), (groupId) =>
      this.#elector.deleteGroup({ groupId, by: BY, force: true }),
    );
  }
}

/** Stops at the first failure, and rejects with it when all calls in flight have ended. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const drain = async (): Promise<void> => {
    while (failures.length === 0) {
      const item = queue.shift();
      if (item === undefined) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
  if (failures.length > 0) throw failures[0];
}
