import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { InvalidRequestError } from "@tenure/core";

const OWNER_ONLY = 0o600;

/** Replaces a file atomically, with a mode that no other user can read. */
export async function writePrivate(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.new`;
  try {
    await writeFile(beside, text, { mode: OWNER_ONLY, flag: "wx" });
    await chmod(beside, OWNER_ONLY);
    await rename(beside, path);
  } catch (cause) {
    await rm(beside, { force: true });
    throw new InvalidRequestError(path, `cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** `null` if there is no such file. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}
