/**
 * The file of the audit log: appends lines to a hash chain, which continues across restarts and rotations.
 *
 * After a restart the chain continues from the last intact line of the file. What comes after that line (a line that was cut off by
 * a crash, or lines that are not of this chain) stays in the file, and the next line records it. A file that was renamed is left as
 * it is: the next line goes to a new file of the old name, and its `prev` is the last hash of the renamed file. While a server runs
 * it never takes the head from the file, so lines that somebody cuts off are missed by the lines that follow.
 */
import { closeSync, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { type ChainHead, continueChain, GENESIS, readChainLine, sha256 } from "./audit-chain.js";

/** The end of a file. */
interface FileEnd {
  /** The last intact line of a chain; `null` if there is none in the last megabyte. */
  readonly head: ChainHead | null;
  /** Complete lines follow it that are not of the chain. */
  readonly hasForeignLines: boolean;
  /** What follows the last line feed: a write that was cut off. */
  readonly torn: Buffer;
}

const LINE_FEED = 0x0a;
/** Longer than any line: a request has at most 64 KiB, and escaping makes them six times as many. */
const MAX_END_BYTES = 1024 * 1024;

export interface AuditFileDeps {
  readonly wallMs: () => number;
  /** Called when a line could not be written, and when the file does not end as it should. */
  readonly onProblem: (problem: string, error?: unknown) => void;
}

export class AuditFile {
  readonly #path: string;
  readonly #deps: AuditFileDeps;
  #fd: number;
  #head: ChainHead = GENESIS;
  /** A write has failed: there may be part of a line in the file. */
  #isDamaged = false;

  /** Throws if the file cannot be opened. */
  constructor(path: string, deps: AuditFileDeps) {
    this.#path = path;
    this.#deps = deps;
    this.#fd = openToAppend(path);
    const end = readEnd(this.#fd);
    this.#head = end.head ?? GENESIS;
    this.#recordEnd(end);
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** Appends one line of JSON, with or without its line feed. Never throws: the service goes on without its audit log. */
  write(text: string): void {
    try {
      if (this.#isRenamed()) this.#reopen();
      else if (this.#isDamaged) this.#recordEnd(readEnd(this.#fd));
      this.#append(text.trimEnd());
    } catch (error) {
      this.#isDamaged = true;
      this.#deps.onProblem(`${this.#path} cannot be written: audit entries are lost`, error);
    }
  }

  /** Closes a file that was renamed, and continues the chain in a new one. */
  reopen(): void {
    try {
      if (this.#isRenamed()) this.#reopen();
    } catch (error) {
      this.#deps.onProblem(`${this.#path} cannot be opened again`, error);
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #isRenamed(): boolean {
    const open = fstatSync(this.#fd);
    const named = statSync(this.#path, { throwIfNoEntry: false });
    return named === undefined || named.ino !== open.ino || named.dev !== open.dev;
  }

  #reopen(): void {
    const fd = openToAppend(this.#path);
    closeSync(this.#fd);
    this.#fd = fd;
    this.#recordEnd(readEnd(fd));
    // At once, so that the new file is linked to the old one even if nothing more happens before a restart.
    this.#append(this.#entry({ event: "continued" }));
  }

  /** What is in the file and not in the chain stays there, and a line says so. */
  #recordEnd({ hasForeignLines, torn }: FileEnd): void {
    this.#isDamaged = false;
    if (torn.length > 0) {
      this.#deps.onProblem(`${this.#path} ended within a line; the hash chain continues after it`);
      this.#put("\n");
      this.#append(this.#entry({ event: "torn-line", bytes: torn.length, sha256: sha256(torn) }));
    } else if (hasForeignLines) {
      this.#deps.onProblem(
        `${this.#path} has lines that are not part of the hash chain; rename the file to begin a new one`,
      );
      this.#append(this.#entry({ event: "foreign-lines" }));
    }
  }

  #entry(fields: { readonly event: string; readonly bytes?: number; readonly sha256?: string }): string {
    return JSON.stringify({
      level: 30,
      time: this.#deps.wallMs(),
      audit: true,
      ...fields,
      msg: fields.event,
    });
  }

  #append(object: string): void {
    const { line, head } = continueChain(object, this.#head);
    this.#put(`${line}\n`);
    this.#head = head;
  }

  #put(text: string): void {
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length;) written += writeSync(this.#fd, bytes, written);
  }
}

/** To read the end of it, too. */
function openToAppend(path: string): number {
  return openSync(path, "a+", 0o600);
}

function readEnd(fd: number): FileEnd {
  const { size } = fstatSync(fd);
  const bytes = Buffer.alloc(Math.min(size, MAX_END_BYTES));
  readSync(fd, bytes, 0, bytes.length, size - bytes.length);
  const complete = bytes.lastIndexOf(LINE_FEED) + 1;
  const torn = bytes.subarray(complete);
  let end = complete;
  while (end > 0) {
    const start = end < 2 ? 0 : bytes.lastIndexOf(LINE_FEED, end - 2) + 1;
    const line = readChainLine(bytes.toString("utf8", start, end - 1));
    if (line?.isIntact === true)
      return { head: { seq: line.seq, hash: line.hash }, hasForeignLines: end < complete, torn };
    end = start;
  }
  return { head: null, hasForeignLines: complete > 0, torn };
}
