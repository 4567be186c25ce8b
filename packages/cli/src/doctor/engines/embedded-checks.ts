/** Checks the directory of an embedded store without opening the store: a server may have it open. */
import { statfs } from "node:fs/promises";
import { type Finding, messageOf, ok, wrong } from "../finding.js";

/** By the magic number of the file system in Linux. */
const NETWORK = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x65735546, "FUSE"],
]);
const MEMORY = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);
const MIN_FREE_BYTES = 256 * 2 ** 20;

export interface FileSystem {
  readonly type: number;
  readonly freeBytes: number;
}

export async function checkEmbedded(directory: string): Promise<Finding[]> {
  try {
    const { type, bavail, bsize } = await statfs(directory);
    return judgeFileSystem(`embedded ${directory}`, { type, freeBytes: bavail * bsize });
  } catch (error) {
    const advice = "run doctor on the server's machine and name the directory that the server uses";
    return [wrong(`embedded ${directory}`, `cannot be read: ${messageOf(error)}`, advice)];
  }
}

export function judgeFileSystem(about: string, { type, freeBytes }: FileSystem): Finding[] {
  const network = NETWORK.get(type);
  const memory = MEMORY.get(type);
  const findings: Finding[] = [];
  if (network !== undefined) {
    const says = `is on ${network}, where a process cannot lock it exclusively`;
    findings.push(wrong(about, says, "move it to a local disk"));
  }
  if (memory !== undefined) {
    findings.push(
      wrong(about, `is on ${memory}: a restart of the machine loses every term`, "move it to a disk"),
    );
  }
  const free = `${Math.round(freeBytes / 2 ** 20)} MiB free`;
  if (freeBytes < MIN_FREE_BYTES)
    findings.push(
      wrong(about, `only ${free} on its disk`, "free disk space: a full disk stops every election"),
    );
  else findings.push(ok(about, `${free} on its disk`));
  return findings;
}
