/**
 * Does by plain calls what LMDB is about to do when it opens its files. The `lmdb` package (3.5) ends the whole process
 * with SIGSEGV if that fails, and LMDB with SIGBUS if there is no room for its lock file, so it must not fail there.
 */
import { closeSync, constants, fstatSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DRAFT_FILE, refusal } from "./directory.js";

/** More than a new lock file and the first pages of new data take together. */
const ROOM_BYTES = 65_536;
const SMALLEST_BYTES = 8192;

export function rehearse(directory: string, dataFile: string, lockFile: string): void {
  // Two of the data, one of the lock file, and one that is closed again.
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
      needsRoom ||= stat.size < SMALLEST_BYTES;
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
