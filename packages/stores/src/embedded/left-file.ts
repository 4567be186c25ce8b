import { statSync } from "node:fs";
import type { Entry, Revision } from "@tenure/core";
import { readHead } from "./data-file.js";

/** Everything in a data file. */
export interface Contents {
  readonly entries: Map<string, Entry>;
  readonly revision: Revision;
  /** Of the head: every transaction of ours has a number of its own. `null` if there is no head yet. */
  readonly headVersion: number | null;
}

/**
 * Recognizes a data file that this process closed and that nothing has changed since, and remembers what is in it.
 *
 * Such a file is neither walked before it is mapped, nor loaded again. That is as safe as to have kept it open: all that
 * LMDB can reach in it was either walked by this process, or written by LMDB in this process. A write that failed, which is
 * why the file is opened again, changes nothing of that. LMDB never writes to a page of the last committed state, only to
 * free ones, and makes them reachable by the meta page, written after everything else was flushed. The meta pages
 * themselves are read and checked at each opening. Whether the transaction of the failed write was committed after all is
 * seen from the version of the head; if it was, the file is loaded.
 *
 * What the walk is for is a change from outside: another owner in between, a copy put in its place, a file system that was
 * checked and repaired. Each of them changes the inode, the size, the times or the number of the last transaction.
 */
export class LeftFile {
  #left: { readonly identity: string; readonly contents: Contents } | null = null;

  /** Call it while the directory is still owned, after the last write, and only for a file known to be sound. */
  remember(path: string, contents: Contents): void {
    const identity = identify(path);
    this.#left = identity === null ? null : { identity, contents };
  }

  forget(): void {
    this.#left = null;
  }

  /** `null` if it must be walked: this process has not had it open, or it was changed since. */
  contents(path: string): Contents | null {
    return this.#left !== null && this.#left.identity === identify(path) ? this.#left.contents : null;
  }
}

/** `null` if the file cannot be read, or its first pages are damaged. */
function identify(path: string): string | null {
  try {
    const { transaction } = readHead(path);
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs, transaction].join(":");
  } catch {
    return null;
  }
}
