/**
 * One process at a time, and no lock that outlives its holder.
 *
 * LMDB has all that is needed. Each process that reads takes a slot in the table of the lock file, with its pid, and an
 * fcntl lock on the byte of that number. The kernel drops the lock with the process, however it dies, and LMDB clears a
 * table that no process has open. So every slot in the table belongs to a live process:
 *
 * - after kill -9 nothing is left to remove, and no file's age decides anything;
 * - a pid that was reused counts only if that very process has this directory open;
 * - containers that share a volume see each other, though each may think that it is process 1: the table and the locks
 *   are the file's, not the namespace's. (A socket would be the network namespace's, a pid file the pid namespace's.)
 *
 * The slot is taken in a file of its own, without content, before the data is opened: to open LMDB's files while another
 * writes them can undo its last transaction (`environment.ts`).
 *
 * **Invariant: who owns the directory was alone in the table at some moment after taking its slot, and has kept the slot
 * since.** Of two that have slots, the one that looked second saw the first; so never both. Of several that start at the
 * same moment each sees another: the first in the table stays until it is alone, the others leave.
 *
 * fcntl locks are also dropped when any descriptor of that file is closed in the same process. So within a process
 * nothing may open the directory twice, nor read its lock files.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { scheduler } from "node:timers/promises";
import { BackendUnavailableError } from "@tenure/core";
import { DATA_FILE, OWNER_FILE, OWNER_LOCK_FILE } from "./directory.js";
import { Environment, loadLmdb, type Table } from "./environment.js";
import { preflight } from "./preflight.js";

/** A slot of one that died stays while another looks at the table. */
const LOOKS = 6;
const LOOK_MS = 20;
/** A process that leaves the table is gone within milliseconds. */
const MAX_WAIT_MS = 2000;
const NO_KEY = Buffer.from("none");

/** On the global object, because two copies of this module may be loaded into one process. */
const RESERVED = Symbol.for("tenure.embedded.reserved");
const registry = globalThis as { [RESERVED]?: Set<string> };
const reserved = (registry[RESERVED] ??= new Set<string>());

export function inUse(directory: string, holder: string): BackendUnavailableError {
  const remedy =
    "stop it first, use another directory, or connect to the server that uses this one (--server http://HOST:PORT)";
  return new BackendUnavailableError(`directory ${directory} is in use by ${holder}; ${remedy}`);
}

/** The right to open the data, from `take` to `release`. */
export class DirectoryLock {
  readonly #table: Table;
  readonly #free: () => void;
  #released: Promise<void> | null = null;

  private constructor(table: Table, free: () => void) {
    this.#table = table;
    this.#free = free;
  }

  /** Rejects with `BackendUnavailableError` if somebody else has it. */
  static async take(directory: string): Promise<DirectoryLock> {
    const free = reserve(directory);
    try {
      for (let look = 1; ; look++) {
        const found = await enter(directory);
        if (typeof found !== "number") return new DirectoryLock(found, free);
        if (look === LOOKS || isAlive(found)) throw inUse(directory, `process ${found}`);
        await scheduler.wait(LOOK_MS);
      }
    } catch (error) {
      free();
      throw error;
    }
  }

  release(): Promise<void> {
    this.#released ??= this.#table.close().finally(this.#free);
    return this.#released;
  }
}

/** The table with only our slot in it, or the pid of the process that was there before us. */
async function enter(directory: string): Promise<Table | number> {
  const lmdb = await loadLmdb();
  preflight(directory, OWNER_FILE, OWNER_LOCK_FILE);
  const environment = new Environment(lmdb, join(directory, OWNER_FILE), "file");
  let table = environment.closed;
  try {
    // LMDB tries for seconds to take a slot beside one with our own pid, of another container.
    let holder = holders(table)[0] ?? null;
    if (holder === null) {
      table = environment.open();
      // Reading takes the slot, which stays.
      table.get(NO_KEY);
      holder = await otherUntilAlone(table);
      if (holder === null) return table;
    }
    await table.close();
    return holder;
  } catch (error) {
    await table.close().catch(() => {});
    throw error;
  }
}

/** `null` once we are alone; else who came before us, or does not leave. */
async function otherUntilAlone(table: Table): Promise<number | null> {
  const giveUpAtMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const [first = process.pid, ...rest] = holders(table);
    if (first !== process.pid) return first;
    if (rest.length === 0) return null;
    if (performance.now() > giveUpAtMs) return rest[0] ?? null;
    await scheduler.wait(1);
  }
}

/** The pids in LMDB's table of readers, in the order of their slots, as LMDB prints it. */
function holders(table: Table): number[] {
  return Array.from(table.readerList().matchAll(/^\s*(\d+) [0-9a-f]+ /gm), ([, pid]) => Number(pid));
}

/** `false` also for a process of another container. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Keeps the rest of this process away from the directory until the function returned is called. */
function reserve(directory: string): () => void {
  const id = identify(directory);
  if (reserved.has(id) || isOpenHere(join(directory, DATA_FILE))) throw inUse(directory, "this very process");
  reserved.add(id);
  return () => reserved.delete(id);
}

/** By device and inode: the same directory has many names. */
function identify(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}

/** Other threads have registries of their own, but share the descriptors. Only Linux tells; elsewhere there is the registry. */
function isOpenHere(file: string): boolean {
  try {
    const id = identify(file);
    return readdirSync("/proc/self/fd").some((fd) => identityOf(`/proc/self/fd/${fd}`) === id);
  } catch {
    return false;
  }
}

function identityOf(path: string): string | null {
  try {
    return identify(path);
  } catch {
    // Closed meanwhile, as the one that listed the directory is.
    return null;
  }
}
