/**
 * Not the client's `WatchedFile`: a server must act on a change without a request, because it ends open streams when a credential is
 * revoked, and for some files a deletion is the revocation.
 *
 * The content of one or several files, reloaded without a restart. Several files are read together, because a certificate and its
 * key are replaced one after the other and only fit together once both are there.
 *
 * An invalid new content is reported once; without a fallback the old content stays in use. Contents are compared, not time stamps,
 * so it does not matter how a file was replaced: in place, by a rename, or by the swap of a symbolic link above it, as Kubernetes
 * does (`..data`). Directories are watched so that changes are noticed quickly. A watch sees neither changes on network file systems
 * nor a link that was swapped further up, so the files are also polled slowly.
 */
import { createHash } from "node:crypto";
import { type FSWatcher, statSync, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type CancelTimer, type Clock, InvalidRequestError } from "@tenure/core";

export interface ReloadedFilesOptions<T> {
  readonly paths: readonly string[];
  /** Parses the contents, in the order of the paths. Throws an error that names the file if a content is invalid. */
  readonly parse: (contents: readonly Buffer[]) => T | Promise<T>;
  readonly clock: Clock;
  /** Not called for the first content. */
  readonly onChange?: ((value: T) => void) | undefined;
  /** Called once for each invalid content, and once when a file cannot be read. */
  readonly onRefused?: ((error: Error) => void) | undefined;
  /**
   * Returns the value to use after an invalid content or a failed read; `undefined` keeps the previous value. `isGone`: the file does
   * not exist, which is how an operator revokes something. A file that is replaced by a rename always exists.
   */
  readonly fallback?: ((isGone: boolean, error: Error) => T | undefined) | undefined;
  readonly pollMs?: number | undefined;
}

const POLL_MS = 30_000;
/** Long enough to write both files of a pair, short enough to go unnoticed. */
const SETTLE_MS = 100;

export class ReloadedFiles<T> implements AsyncDisposable {
  readonly #options: ReloadedFilesOptions<T>;
  readonly #names: ReadonlySet<string>;
  readonly #watched = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();
  #current: T | undefined;
  #taken = "";
  #refused = "";
  #looking: Promise<void> = Promise.resolve();
  #cancelPoll: CancelTimer = () => {};
  #cancelSoon: CancelTimer | null = null;
  #isClosed = false;

  private constructor(options: ReloadedFilesOptions<T>) {
    this.#options = options;
    this.#names = new Set(options.paths.map((path) => basename(path)));
  }

  /** Rejects if the first content is invalid, because there is no previous value to use. */
  static async open<T>(options: ReloadedFilesOptions<T>): Promise<ReloadedFiles<T>> {
    const files = new ReloadedFiles(options);
    // Watch before reading, so that a change between the two is not missed.
    files.#watch();
    try {
      const contents = await readAll(options.paths);
      files.#current = await options.parse(contents);
      files.#taken = fingerprint(contents);
    } catch (error) {
      await files[Symbol.asyncDispose]();
      throw error;
    }
    files.#poll();
    return files;
  }

  get current(): T {
    return this.#current as T;
  }

  /** Checks the files at once. Settles when the content was accepted or refused. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#lookOnce());
    return this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll();
    this.#cancelSoon?.();
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
    await this.#looking;
  }

  async #lookOnce(): Promise<void> {
    if (this.#isClosed) return;
    let print = "";
    try {
      const contents = await readAll(this.#options.paths);
      print = fingerprint(contents);
      if (print === this.#taken) {
        this.#refused = "";
        return;
      }
      if (print === this.#refused) return;
      const next = await this.#options.parse(contents);
      if (this.#isClosed) return;
      this.#current = next;
      this.#taken = print;
      this.#refused = "";
      this.#options.onChange?.(next);
    } catch (error) {
      const problem =
        error instanceof Error ? error : new Error("a file could not be read", { cause: error });
      const refused = print === "" ? problem.message : print;
      if (this.#isClosed || refused === this.#refused) return;
      this.#refused = refused;
      const fallback = this.#options.fallback?.(isGone(problem), problem);
      if (fallback !== undefined) {
        this.#current = fallback;
        // The same content counts again once it is back.
        this.#taken = "";
      }
      this.#options.onRefused?.(problem);
    }
  }

  #poll(): void {
    this.#cancelPoll = this.#options.clock.after(this.#options.pollMs ?? POLL_MS, () => {
      this.#watch();
      void this.look().then(() => {
        if (!this.#isClosed) this.#poll();
      });
    });
  }

  /** Also replaces the watch of a directory that was replaced by another one of the same name: the old watch sees nothing there. */
  #watch(): void {
    for (const directory of new Set(this.#options.paths.map((path) => dirname(path)))) {
      const identity = identify(directory);
      const before = this.#watched.get(directory);
      if (before?.identity === identity) continue;
      before?.watcher.close();
      this.#watched.delete(directory);
      const watcher = this.#watchDirectory(directory);
      if (watcher !== null) this.#watched.set(directory, { identity, watcher });
    }
  }

  #watchDirectory(directory: string): FSWatcher | null {
    try {
      const watcher = watch(directory, { persistent: false }, (_event, name) => {
        if (name === null || name.startsWith("..") || this.#names.has(name)) this.#lookSoon();
      });
      watcher.on("error", () => {
        watcher.close();
        this.#watched.delete(directory);
      });
      return watcher;
    } catch {
      // The directory does not exist, or the limit of watches is reached. Polling is enough.
      return null;
    }
  }

  #lookSoon(): void {
    this.#cancelSoon ??= this.#options.clock.after(SETTLE_MS, () => {
      this.#cancelSoon = null;
      void this.look();
    });
  }
}

async function readAll(paths: readonly string[]): Promise<Buffer[]> {
  return Promise.all(
    paths.map((path) =>
      readFile(path).catch((cause: unknown) => {
        const { code, message } = cause as NodeJS.ErrnoException;
        throw new InvalidRequestError(path, `cannot be read: ${code ?? message}`, { cause });
      }),
    ),
  );
}

/** Whether the file could not be read, as opposed to a file with an invalid content. */
export function isReadError({ cause }: Error): boolean {
  return (cause as Partial<NodeJS.ErrnoException> | undefined)?.syscall !== undefined;
}

function isGone({ cause }: Error): boolean {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

/** A digest, so that secrets are not kept in memory for a comparison. */
function fingerprint(contents: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(`${content.length}:`).update(content);
  return hash.digest("base64");
}

function identify(directory: string): string {
  const found = statSync(directory, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.dev}:${found.ino}`;
}
