/**
 * Terms in a directory of a local file system, for one process or many at once.
 *
 * Each group has a directory, each term in it an empty file of that name: the highest name is the highest term. To raise
 * is to create a file, so there is no content to be torn, nothing is ever overwritten, and no lock is left behind by
 * whoever dies. A single file replaced by rename would need one: between reading and renaming, another process may have
 * written a higher term, and the rename would undo it.
 *
 * The last terms are kept and the rest removed, so that somebody who lists the directory meanwhile still finds one that
 * is high enough: it would have to miss as many new leaders as are kept during one listing.
 */
import { createHash } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { InvalidRequestError } from "@tenure/core";
import { checkKeys } from "@tenure/core/internal";
import { parseTerm } from "../check.js";
import { FenceUnavailableError } from "../errors.js";
import type { TermCell } from "./term-cell.js";

export interface FileTermCellOptions {
  /** Made if it is missing; its parent must be there. */
  readonly directory: string;
}

const KEPT_TERMS = 32;
const READABLE_CHARACTERS = 60;
/** There a directory can be neither opened nor flushed; NTFS keeps names in a journal of its own. */
const CAN_FLUSH_DIRECTORIES = process.platform !== "win32";

export class FileTermCell implements TermCell {
  readonly #directory: string;
  /** By place: the highest term that is known to outlast a loss of power. */
  readonly #durable = new Map<string, number>();

  constructor(options: FileTermCellOptions) {
    checkKeys(options, "", ["directory"]);
    if (typeof options.directory !== "string" || options.directory === "") {
      throw new InvalidRequestError("directory", "must be the path of a directory");
    }
    this.#directory = resolve(options.directory);
  }

  read(groupId: string): Promise<number> {
    return this.#guarded(async () => highestOf(await listTerms(this.#placeOf(groupId))));
  }

  raise(groupId: string, term: number): Promise<number> {
    return this.#guarded(async () => {
      const place = this.#placeOf(groupId);
      let terms = await listTerms(place);
      if (highestOf(terms) < term) {
        await this.#create(place, term);
        // Somebody may have come in between with a higher one.
        terms = await listTerms(place);
      }
      const highest = highestOf(terms);
      await this.#settle(place, highest);
      await trim(place, terms);
      return highest;
    });
  }

  async #create(place: string, term: number): Promise<void> {
    await unlessThere(mkdir(this.#directory));
    await unlessThere(mkdir(place));
    const file = await unlessThere(open(join(place, String(term)), "wx"));
    await flushAndClose(file);
  }

  /** Another process may have created the file and not flushed it yet: whoever relies on it sees to it. */
  async #settle(place: string, term: number): Promise<void> {
    if (term <= (this.#durable.get(place) ?? 0)) return;
    if (CAN_FLUSH_DIRECTORIES) {
      for (const path of [place, this.#directory, dirname(this.#directory)]) {
        await flushAndClose(await open(path, "r"));
      }
    }
    this.#durable.set(place, Math.max(term, this.#durable.get(place) ?? 0));
  }

  /** Readable for people, and distinct whatever the file system makes of case and length. */
  #placeOf(groupId: string): string {
    const readable = groupId.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, READABLE_CHARACTERS);
    const digest = createHash("sha256").update(groupId).digest("hex").slice(0, 32);
    return join(this.#directory, `${readable}-${digest}`);
  }

  async #guarded(deed: () => Promise<number>): Promise<number> {
    try {
      return await deed();
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      throw new FenceUnavailableError(`${this.#directory} cannot be used: ${code ?? message}`, { cause });
    }
  }
}

/** Names that are no terms are somebody else's and left alone. */
async function listTerms(place: string): Promise<number[]> {
  try {
    const names = await readdir(place);
    return names.map(parseTerm).filter((term) => term !== null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function highestOf(terms: readonly number[]): number {
  return terms.reduce((highest, term) => Math.max(highest, term), 0);
}

async function trim(place: string, terms: readonly number[]): Promise<void> {
  if (terms.length <= KEPT_TERMS) return;
  const old = terms.toSorted((a, b) => b - a).slice(KEPT_TERMS);
  await Promise.all(old.map((term) => rm(join(place, String(term)), { force: true })));
}

async function unlessThere<T>(made: Promise<T>): Promise<T | undefined> {
  try {
    return await made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  }
}

async function flushAndClose(file: FileHandle | undefined): Promise<void> {
  if (file === undefined) return;
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
