import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { scheduler } from "node:timers/promises";

export interface EngineCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** For an engine that refuses to run as root: the user to become. */
  readonly user?: string;
  /** Resolves once it serves; asked again and again until then. */
  readonly isReady: () => Promise<boolean>;
}

const MAX_START_MS = 60_000;
const READY_POLL_MS = 25;
const KEPT_OUTPUT = 8192;

/**
 * One server of an engine. It may be killed, paused and started again on its own data and ports. It dies with the
 * process that started it, however that one ends: the kernel sees to it (`setpriv --pdeathsig`).
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

  /** Starts it, without waiting until it serves: members of a cluster wait for each other. */
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
    // Never thrown from here: `ready` sees that it does not run, and tells why.
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
   * Stops answering, keeps its connections: as a machine that hangs. Resolves when every thread of it stands; until then
   * it may still answer.
   */
  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
    if (this.pid !== undefined) await standsStill(this.pid);
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Resolves when it is gone; `SIGKILL` unless told otherwise. */
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

/** Resolves when every thread of a process that was sent SIGSTOP stands, or has ended. */
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
    // It ended while we looked.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
