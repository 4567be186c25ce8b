import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { scheduler } from "node:timers/promises";

export interface EngineCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user to run as, for an engine that refuses to run as root. */
  readonly user?: string;
  /** Whether the server accepts requests. Called repeatedly until it does. */
  readonly isReady: () => Promise<boolean>;
}

const MAX_START_MS = 60_000;
const READY_POLL_MS = 25;
const KEPT_OUTPUT = 8192;

/**
 * One server of an engine. It can be killed, paused, and started again with the same data and ports. The kernel kills it
 * when the process that started it ends in any way (`setpriv --pdeathsig`).
 */
export class EngineProcess {
  readonly name: string;
  readonly #command: EngineCommand;
  #child: ChildProcess | null = null;
  #output = "";

  constructor(name: string, command: EngineCommand) {
    this.name = name;
    this.#command = command;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the server without waiting until it is ready, because members of a cluster wait for each other. */
  launch(): void {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const { file, args, cwd, env, user } = this.#command;
    const became = user === undefined ? [] : [`--reuid=${user}`, `--regid=${user}`, "--init-groups"];
    const child = spawn("setpriv", ["--pdeathsig=KILL", ...became, "--", file, ...args], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output = (this.#output + text).slice(-KEPT_OUTPUT);
      });
    }
    // Not thrown here: `ready` finds that the server does not run, and reports why.
    child.once("error", (error) => (this.#output += String(error)));
    this.#child = child;
  }

  async ready(): Promise<void> {
    const giveUp = performance.now() + MAX_START_MS;
    while (!(await this.#command.isReady().catch(() => false))) {
      if (!this.isRunning) throw new Error(`${this.name} ended while starting: ${this.#output}`);
      if (performance.now() > giveUp) throw new Error(`${this.name} does not serve: ${this.#output}`);
      await scheduler.wait(READY_POLL_MS);
    }
  }

  async start(): Promise<void> {
    this.launch();
    await this.ready();
  }

  /**
   * Stops answering and keeps its connections, like a machine that hangs. Resolves when every thread has stopped; until then
   * the server may still answer.
   */
  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
    if (this.pid !== undefined) await standsStill(this.pid);
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Resolves when the process has ended. Default signal: `SIGKILL`. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isRunning) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.isRunning) throw new Error(`${this.name} does not run`);
    this.#child?.kill(signal);
  }
}

/** Resolves when every thread of a process that was sent SIGSTOP has stopped or ended. */
export async function standsStill(pid: number): Promise<void> {
  while (!threadStates(pid).every((state) => "TZX".includes(state))) await scheduler.wait(1);
}

function threadStates(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((task) => {
      const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
    });
  } catch (error) {
    // The process ended while its threads were read.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
