/**
 * One process at a time, and no lock that outlives its holder.
 *
 * LMDB has all that is needed. Each process that reads takes a slot in the table of `lock.mdb`, with its pid, and an
 * fcntl lock on the byte of that number. The kernel drops the lock with the process, however it dies, so a slot whose
 * byte is free is stale, and a table that nobody has open is begun anew. A store keeps its slot for as long as it is
 * open. Hence a slot in the table is a live holder:
 *
 * - after kill -9 nothing is left to remove, and no file's age or sleep decides anything;
 * - a pid that was reused counts only if that very process has this directory open;
 * - containers that share a volume see each other, though each may think that it is process 1: the table and the locks
 *   are the file's, not the namespace's. (A socket would be the network namespace's, a pid file the pid namespace's.)
 *
 * It is asked before this process takes a slot of its own, without LMDB's mutexes, so a holder that is stopped in the
 * middle of a write does not make the asker hang. Two that start at the same moment may both find the table empty;
 * which of them owns the data is decided by the claim in `database.ts`, and never both.
 *
 * fcntl locks are also dropped when any descriptor of that file is closed in the same process. So within a process
 * nothing may open the directory twice, nor read `lock.mdb`.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BackendUnavailableError } from "@tenure/core";
import { DATA_FILE } from "./directory.js";

/** On the global object, because two copies of this module may be loaded into one process. */
const RESERVED = Symbol.for("tenure.embedded.reserved");
const registry = globalThis as { [RESERVED]?: Set<string> };
const reserved = (registry[RESERVED] ??= new Set<string>());

export function inUse(directory: string, holder: string): BackendUnavailableError {
  const remedy = "stop it first, or name another directory";
  return new BackendUnavailableError(`directory ${directory} is in use by ${holder}; ${remedy}`);
}

/** Keeps the rest of this process away from the directory until the function returned is called. */
export function reserve(directory: string): () => void {
  const id = identify(directory);
  if (reserved.has(id) || isOpenHere(join(directory, DATA_FILE))) throw inUse(directory, "this very process");
  reserved.add(id);
  return () => reserved.delete(id);
}

/** The pid of whoever holds a slot in LMDB's table, as LMDB prints it. */
export function holderOf(readerTable: string): number | null {
  const slot = /^\s*(\d+) [0-9a-f]+ /m.exec(readerTable);
  return slot === null ? null : Number(slot[1]);
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
