/** Checks the hash chain of audit files, line by line, and stops at the first line that does not fit. */
import { type ChainHead, GENESIS, readChainLine, sha256 } from "./audit-chain.js";

export type ChainProblemKind =
  /** The line does not have the hash that it says. */
  | "changed"
  /** The line has no `seq`, `prev` and `hash`. */
  | "not-chained"
  /** Lines between this one and the one before are not there. */
  | "missing"
  /** The line belongs further up. */
  | "reordered"
  /** The line before is not the one that this line continues. */
  | "replaced"
  /** A chain begins within another. */
  | "restarted"
  /** The file ends within a line. */
  | "torn"
  /** The hash that was kept elsewhere is in none of the lines. */
  | "truncated";

export interface ChainProblem {
  readonly kind: ChainProblemKind;
  readonly file: string;
  /** From 1, within its file; `null`: the problem is not in one line. */
  readonly line: number | null;
  readonly message: string;
}

export interface ChainReport {
  readonly lines: number;
  /** Of the first line; `null` if there is none. More than 1: earlier lines are in files that were not given. */
  readonly firstSeq: number | null;
  /** The last line that fits. */
  readonly head: ChainHead | null;
  /** Lines that a crash has cut off, and that the server has recorded when it started again. */
  readonly recordedTornLines: readonly { readonly file: string; readonly line: number }[];
  readonly problem: ChainProblem | null;
}

/** A line that is not of the chain; allowed if the next line records it. */
interface Fragment {
  readonly file: string;
  readonly line: number;
  readonly bytes: Buffer;
}

export class ChainVerifier {
  readonly #wanted: string | null;
  readonly #torn: { readonly file: string; readonly line: number }[] = [];
  #hasWanted = false;
  #fragment: Fragment | null = null;
  #head: ChainHead | null = null;
  #firstSeq: number | null = null;
  #lines = 0;
  #lastFile = "";
  #problem: ChainProblem | null = null;

  /** `wantedHash`: the head that was kept elsewhere; one of the lines must have it. */
  constructor(wantedHash: string | null) {
    this.#wanted = wantedHash;
  }

  get isBroken(): boolean {
    return this.#problem !== null;
  }

  /** The next line, without its line feed. `isComplete`: there was a line feed. */
  add(file: string, line: number, bytes: Buffer, isComplete: boolean): void {
    if (this.isBroken) return;
    this.#lastFile = file;
    const fragment = this.#fragment;
    this.#fragment = null;
    if (!isComplete)
      return this.#fail(
        "torn",
        file,
        line,
        "the file ends within a line: the server was killed while it wrote, or the file was cut",
      );
    const text = bytes.toString("utf8");
    const read = readChainLine(text);
    if (read === null) {
      if (fragment !== null) return this.#refuse(fragment);
      this.#fragment = { file, line, bytes };
      return;
    }
    if (!read.isIntact)
      return this.#fail(
        "changed",
        file,
        line,
        "the content of the line does not have the hash that the line says",
      );
    if (fragment !== null && !this.#isRecorded(fragment, text)) return this.#refuse(fragment);
    const misfit = this.#misfit(read.seq, read.prev);
    if (misfit !== null) return this.#fail(misfit[0], file, line, misfit[1]);
    this.#lines++;
    this.#firstSeq ??= read.seq;
    this.#head = { seq: read.seq, hash: read.hash };
    if (read.hash === this.#wanted) this.#hasWanted = true;
  }

  report(): ChainReport {
    if (this.#problem === null && this.#fragment !== null) this.#refuse(this.#fragment);
    if (this.#problem === null && this.#wanted !== null && !this.#hasWanted) {
      const end = this.#head === null ? "there is no line" : `the last line has seq ${this.#head.seq}`;
      const message = `no line has the hash ${this.#wanted}, and ${end}: lines at the end are missing, or the whole chain was written again`;
      this.#fail("truncated", this.#lastFile, null, message);
    }
    return {
      lines: this.#lines,
      firstSeq: this.#firstSeq,
      head: this.#head,
      recordedTornLines: this.#torn,
      problem: this.#problem,
    };
  }

  #misfit(seq: number, prev: string): readonly [ChainProblemKind, string] | null {
    const head = this.#head;
    // The first file may be a later part of the chain; what comes before it is not known.
    if (head === null) {
      const isGenesis = prev === GENESIS.hash;
      if (isGenesis === (seq === 1)) return null;
      return [
        "replaced",
        `the line has seq ${seq} and ${isGenesis ? "no" : "a"} line before it: seq and prev do not fit`,
      ];
    }
    if (seq === head.seq + 1)
      return prev === head.hash
        ? null
        : ["replaced", "prev is not the hash of the line before: one of the two was replaced"];
    if (seq > head.seq) {
      const count = seq - head.seq - 1;
      const lines =
        count === 1
          ? `line with seq ${seq - 1} is`
          : `${count} lines with seq ${head.seq + 1} to ${seq - 1} are`;
      return ["missing", `the ${lines} missing before this line`];
    }
    if (prev === GENESIS.hash)
      return [
        "restarted",
        `a new chain begins here, after seq ${head.seq}: files are out of order, or lines between were lost`,
      ];
    return [
      "reordered",
      `the line has seq ${seq} after seq ${head.seq}: lines or files are out of order, or repeated`,
    ];
  }

  /** Whether the line says that the server found this fragment when it started. */
  #isRecorded({ file, line, bytes }: Fragment, next: string): boolean {
    const recorded = JSON.parse(next) as Readonly<Record<string, unknown>>;
    if (recorded["event"] !== "torn-line" || recorded["bytes"] !== bytes.length) return false;
    if (recorded["sha256"] !== sha256(bytes)) return false;
    this.#torn.push({ file, line });
    return true;
  }

  #refuse({ file, line }: Fragment): void {
    this.#fail(
      "not-chained",
      file,
      line,
      "the line has no seq, prev and hash at its end: it is not part of the chain",
    );
  }

  #fail(kind: ChainProblemKind, file: string, line: number | null, message: string): void {
    this.#problem = { kind, file, line, message };
  }
}
