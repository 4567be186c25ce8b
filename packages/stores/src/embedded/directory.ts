/**
 * The directory of an embedded store: what may lie in it, and how it is known again.
 *
 *     data.mdb        LMDB's data
 *     lock.mdb        LMDB's table of readers and its mutexes; holds nothing that must be kept
 *     owner.mdb       an LMDB file without content; the process that reads it owns the directory (`directory-lock.ts`)
 *     owner.mdb-lock  its table of readers
 *     tenure.json     says what this is; written last, so that it stands only beside a store that was complete once
 *
 * Because of `tenure.json`, a store whose data was lost or emptied is refused instead of created again: a new store would grant
 * the same terms a second time.
 */
import { constants } from "node:fs";
import { access, mkdir, open, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { InvalidRequestError } from "@tenure/core";

export const FORMAT = 1;
export const DATA_FILE = "data.mdb";
export const LOCK_FILE = "lock.mdb";
export const OWNER_FILE = "owner.mdb";
export const OWNER_LOCK_FILE = "owner.mdb-lock";
/** What is written before it takes its name, or only to see that it can be. */
export const DRAFT_FILE = "tenure.json.new";

const MARKER_FILE = "tenure.json";
/** May lie there before the first start; the last is what a fresh ext4 volume begins with. */
const BEFORE_MARKER = new Set([DATA_FILE, LOCK_FILE, OWNER_FILE, OWNER_LOCK_FILE, DRAFT_FILE, "lost+found"]);

export interface DirectoryState {
  /** A complete store was here once. */
  readonly isMarked: boolean;
  /** `null` if there is none. */
  readonly dataBytes: number | null;
  /** The directory itself, or the one above it that was there before it was made. */
  readonly highestExisting: string;
}

/** Makes the directory if need be, and refuses one that is somebody else's. Touches nothing in it. */
export async function prepareDirectory(directory: string): Promise<DirectoryState> {
  try {
    const firstMade = await mkdir(directory, { recursive: true, mode: 0o700 });
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    const names = await readdir(directory);
    const isMarked = names.includes(MARKER_FILE);
    if (isMarked) await checkMarker(directory);
    const foreign = names.find((name) => !BEFORE_MARKER.has(name));
    if (!isMarked && foreign !== undefined) {
      throw refusal(directory, `holds ${foreign} and is no Tenure store; name an empty or a new one`);
    }
    return {
      isMarked,
      dataBytes: await sizeOf(join(directory, DATA_FILE)),
      highestExisting: firstMade === undefined ? directory : dirname(firstMade),
    };
  } catch (error) {
    throw explain(directory, error);
  }
}

/** Makes the store known as one, once everything else is on disk. */
export async function markDirectory(directory: string, highestExisting: string): Promise<void> {
  const draft = join(directory, DRAFT_FILE);
  const text = { what: "a store of Tenure; data.mdb is its content", format: FORMAT };
  await writeFile(draft, `${JSON.stringify(text)}\n`, { mode: 0o600, flush: true });
  await rename(draft, join(directory, MARKER_FILE));
  // A name is on disk when the directory that holds it is: up to the one that was there before.
  await syncDirectory(directory);
  for (let made = directory; made !== highestExisting;) {
    made = dirname(made);
    await syncDirectory(made);
  }
}

/** For what can never work with this directory as it is. */
export function refusal(directory: string, problem: string, cause?: unknown): InvalidRequestError {
  return new InvalidRequestError("directory", `${directory} ${problem}`, { cause });
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function checkMarker(directory: string): Promise<void> {
  let format: unknown;
  try {
    format = (JSON.parse(await readFile(join(directory, MARKER_FILE), "utf8")) as { format?: unknown })
      .format;
  } catch (cause) {
    throw refusal(
      directory,
      `has a ${MARKER_FILE} that cannot be read; restore the directory from a backup`,
      cause,
    );
  }
  if (format !== FORMAT) {
    const problem = `is of format ${JSON.stringify(format)} and this Tenure knows ${FORMAT}; use the version that wrote it`;
    throw refusal(directory, problem);
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "is a file; name a directory",
  ENOTDIR: "lies below a file; name a directory",
  EACCES: "may not be read and written by this user; change its owner or name another",
  EPERM: "may not be read and written by this user; change its owner or name another",
  EROFS: "is on a file system that is read-only; name another",
};

function explain(directory: string, error: unknown): unknown {
  if (error instanceof InvalidRequestError) return error;
  const reason = REASONS[(error as NodeJS.ErrnoException).code ?? ""];
  return reason === undefined ? error : refusal(directory, reason, error);
}
