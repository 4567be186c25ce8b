import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { systemClock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { waitLimitMs } from "@tenure/engines";
import { machineMs, type Order, type ParticipantOptions, type Told } from "./messages.test-kit.js";

/** The build that `npm test` makes first, because a child process cannot run TypeScript. */
const MAIN = fileURLToPath(new URL("../../dist/elections/participant-main.test-kit.js", import.meta.url));

/** Only a guard against hanging. */
const MAX_WAIT_MS = waitLimitMs(30_000);

type Of<Kind extends Told["kind"]> = Extract<Told, { kind: Kind }>;

interface Waiting {
  readonly isIt: (told: Told) => boolean;
  readonly resolve: (told: Told) => void;
  readonly reject: (error: Error) => void;
}

/** A participant as the test sees it. It dies with the test's process, even if it is paused: the kernel kills it. */
export class Participant {
  readonly nodeId: string;
  readonly #child: ChildProcess;
  /** Messages that were not taken yet. */
  readonly #told: Told[] = [];
  readonly #waiting = new Set<Waiting>();
  #isHeld: () => void = () => {};

  private constructor(options: ParticipantOptions) {
    this.nodeId = options.nodeId;
    const args = ["--pdeathsig=KILL", "--", process.execPath, MAIN, JSON.stringify(options)];
    this.#child = spawn("setpriv", args, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    this.#child.on("message", (told: Told) => this.#take(told));
    this.#child.once("exit", (code, signal) => {
      const error = new Error(`${this.nodeId} has ended: ${code ?? signal}`);
      for (const { reject } of [...this.#waiting]) reject(error);
    });
    if (this.#child.stdout === null) throw new Error("it has no output");
    createInterface({ input: this.#child.stdout }).on("line", () => this.#isHeld());
  }

  static async launch(options: ParticipantOptions): Promise<Participant> {
    const participant = new Participant(options);
    await participant.next("ready");
    return participant;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  /** Takes the oldest message of its kind that was not taken yet. */
  async next<Kind extends Told["kind"]>(
    kind: Kind,
    matches: (told: Of<Kind>) => boolean = () => true,
    signal?: AbortSignal,
  ): Promise<Of<Kind>> {
    const isIt = (told: Told) => told.kind === kind && matches(told as Of<Kind>);
    const index = this.#told.findIndex(isIt);
    if (index >= 0) return this.#told.splice(index, 1)[0] as Of<Kind>;
    if (!this.isRunning) throw new Error(`${this.nodeId} has ended`);
    return this.#wait(kind, isIt, signal) as Promise<Of<Kind>>;
  }

  /** Messages of this kind that were not taken. */
  untaken<Kind extends Told["kind"]>(kind: Kind): readonly Of<Kind>[] {
    return this.#told.filter((told): told is Of<Kind> => told.kind === kind);
  }

  /** Resolves when its first campaign was answered. */
  async start(group: string, nodeId: string = this.nodeId): Promise<Of<"started">> {
    this.order({ kind: "start", group, nodeId });
    return this.next("started", (told) => told.group === group);
  }

  async promoted(group: string): Promise<Of<"promoted">> {
    return this.next("promoted", (told) => told.group === group);
  }

  async write(group: string): Promise<Of<"wrote">> {
    this.order({ kind: "write", group });
    return this.next("wrote");
  }

  /** Resolves when its event loop is held up; `next("held")` has the result. */
  hold(group: string, ms: number | "until-paused"): Promise<void> {
    return new Promise((resolve) => {
      this.#isHeld = resolve;
      this.order({ kind: "hold", group, ms });
    });
  }

  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Resolves when it is gone, with the time at which it was killed. */
  async kill(): Promise<number> {
    const atMs = machineMs();
    if (!this.isRunning) return atMs;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    return atMs;
  }

  /** Stops its elections in order; resolves with its exit code, `null` if it had to be killed. */
  async close(): Promise<number | null> {
    const exited = once(this.#child, "exit");
    const cancel = systemClock.after(MAX_WAIT_MS, () => this.#child.kill("SIGKILL"));
    this.order({ kind: "close" });
    await exited;
    cancel();
    return this.#child.exitCode;
  }

  #wait(kind: string, isIt: (told: Told) => boolean, signal?: AbortSignal): Promise<Told> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        cancel();
        stopListening();
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        isIt,
        resolve: (told) => {
          settle();
          resolve(told);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const cancel = systemClock.after(MAX_WAIT_MS, () => {
        const told = JSON.stringify(this.#told);
        waiting.reject(new Error(`${this.nodeId} has not told of ${kind}, but of ${told}`));
      });
      this.#waiting.add(waiting);
      const stopListening =
        signal === undefined ? () => {} : onAbort(signal, () => waiting.reject(signal.reason as Error));
    });
  }

  #take(told: Told): void {
    for (const waiting of this.#waiting) {
      if (!waiting.isIt(told)) continue;
      waiting.resolve(told);
      return;
    }
    this.#told.push(told);
  }
}
