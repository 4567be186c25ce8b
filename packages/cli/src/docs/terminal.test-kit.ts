/** A terminal as the reader of a page uses it: a bash with job control that runs one block of the page after the other. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** What the shell prints after a block, which no page prints. */
const DONE = /<the block has ended with (\d+)>\n/;

/** Records the first command of a block that fails, and goes on, as a person would see it. */
const SET_UP =
  "exec 2>&1; set -mE; failed() { [ -n \"$FAILED\" ] || FAILED=$1; }; trap 'failed $?' ERR; trap : INT\n";

const POLL_MS = 20;

export interface TerminalOptions {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where the texts of the blocks are kept. */
  readonly blocks: string;
  /** A command in front of the shell, for example one that enters a network namespace. */
  readonly inside?: readonly string[];
}

export class Terminal {
  readonly #shell: ChildProcessByStdio<Writable, Readable, null>;
  readonly #blocks: string;
  #jobs: ReadonlySet<number> = new Set();
  #count = 0;
  #isBusy = false;
  #exitCode: number | null = 0;
  /** Everything printed since the last block began. */
  #output = "";

  constructor({ folder, environment, blocks, inside = [] }: TerminalOptions) {
    const [file, ...args] = [...inside, "bash", "--noprofile", "--norc"];
    this.#blocks = blocks;
    this.#shell = spawn(file, args, { cwd: folder, env: environment, stdio: ["pipe", "pipe", "inherit"] });
    this.#shell.stdout.setEncoding("utf8").on("data", (text: string) => this.#take(text));
    this.#shell.once("close", () => {
      this.#isBusy = false;
      this.#exitCode ??= this.#shell.exitCode ?? 255;
    });
    this.#shell.stdin.on("error", () => {}).write(SET_UP);
  }

  /** `false` while a block runs. */
  get isIdle(): boolean {
    return !this.#isBusy;
  }

  /** Of the first command that failed in the last block; 0 if none has failed, `null` while the block runs. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  get output(): string {
    return this.#output;
  }

  start(block: string): void {
    if (this.#isBusy) throw new Error(`the terminal is busy; it shows:\n${this.#output}`);
    if (this.#shell.exitCode !== null) throw new Error(`the shell has exited after:\n${this.#output}`);
    const file = join(this.#blocks, `${String(this.#shell.pid)}-${++this.#count}.sh`);
    writeFileSync(file, block);
    this.#jobs = new Set(childrenOf(this.#shell.pid ?? 0));
    [this.#output, this.#isBusy, this.#exitCode] = ["", true, null];
    const end = `printf '<the block has ended with %d>\\n' "$FAILED"`;
    // On a line of its own: Ctrl-C ends the whole line.
    this.#shell.stdin.write(`FAILED=; . '${file}' < /dev/null\n${end}\n`);
  }

  /** Waits until the block has ended, or until `isSeen` is true of what the terminal shows. */
  async until(isSeen: (output: string) => boolean, signal: AbortSignal): Promise<void> {
    while (this.#isBusy && !isSeen(this.#output) && !signal.aborted) await sleep(POLL_MS);
  }

  /** Ctrl-C: SIGINT to the process group in the foreground. */
  async interrupt(signal: AbortSignal): Promise<void> {
    // The command may not have started yet.
    while (this.#isBusy && !signal.aborted) {
      const foreground = childrenOf(this.#shell.pid ?? 0).filter((pid) => !this.#jobs.has(pid));
      if (foreground.length > 0) {
        for (const pid of foreground) process.kill(-pid, "SIGINT");
        return this.until(() => false, signal);
      }
      await sleep(POLL_MS);
    }
  }

  #take(text: string): void {
    this.#output += text;
    const [mark, code] = DONE.exec(this.#output) ?? [];
    if (mark === undefined) return;
    this.#output = this.#output.replace(mark, "");
    this.#isBusy = false;
    this.#exitCode = Number(code);
  }
}

function childrenOf(parent: number): readonly number[] {
  return processes().filter((pid) => statOf(pid)[1] === String(parent));
}

/** Ends every process with this entry in its environment, whatever process group or parent it has. */
export async function endAll(entry: string): Promise<void> {
  while (killAll(entry) > 0) await sleep(POLL_MS);
}

/** Sends SIGKILL to the processes that are there now, and returns their number. */
export function killAll(entry: string): number {
  const left = processes().filter((pid) => pid !== process.pid && hasEntry(pid, entry));
  for (const pid of left) endProcess(pid);
  return left.length;
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function processes(): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The state, the parent and what follows in `/proc/PID/stat`; empty if the process has ended. */
function statOf(pid: number): readonly string[] {
  return (readProcess(pid, "stat").split(") ").at(-1) ?? "").split(" ");
}

function hasEntry(pid: number, entry: string): boolean {
  // A zombie has no environment.
  return readProcess(pid, "environ").split("\0").includes(entry);
}

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // It has ended, or belongs to another user.
  }
}
