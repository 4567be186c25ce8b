/**
 * Tries with plain file calls what LMDB will do when it opens its files. If LMDB fails there, the `lmdb` package (3.5) ends
 * the whole process with SIGSEGV, or with SIGBUS if there is no room for the lock file.
 */
import { closeSync, constants, fstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DRAFT_FILE, refusal } from "./directory.js";

/** More than a new lock file and the first pages of a new data file need together. */
const ROOM_BYTES = 65_536;
const MIN_FILE_BYTES = 8192;

export function preflight(directory: string, dataFile: string, lockFile: string): void {
  // LMDB opens the data file twice and the lock file twice, and closes one of them again.
  const descriptors = [dataFile, dataFile, lockFile, lockFile];
  const files: number[] = [];
  try {
    let needsRoom = false;
    for (const name of descriptors) {
      const file = openSync(join(directory, name), constants.O_RDWR | constants.O_CREAT, 0o600);
      files.push(file);
      const stat = fstatSync(file);
      if (!stat.isFile())
        throw refusal(directory, `holds a ${name} that is no file; name an empty or a new one`);
      needsRoom ||= stat.size < MIN_FILE_BYTES;
    }
    if (needsRoom) takeRoom(join(directory, DRAFT_FILE));
  } finally {
    for (const file of files) closeSync(file);
  }
}

function takeRoom(path: string): void {
  try {
    writeFileSync(path, Buffer.alloc(ROOM_BYTES), { flush: true, mode: 0o600 });
  } finally {
    rmSync(path, { force: true });
  }
}
