/** Several programs that share many roles, and who leads what. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RoleProcessMessage, RoleProcessOptions } from "./role-process.test-kit.js";

const PROGRAM = fileURLToPath(new URL("../dist/role-process.test-kit.js", import.meta.url));

export class RoleProcesses {
  /** For each role the process that was promoted last, and when that was reported here; `null`: demoted since. */
  readonly leaders: Map<string, { readonly nodeId: string | null; readonly atMs: number }> = new Map();
  promotions = 0;
  readonly #children = new Map<string, ChildProcess>();
  readonly #waiting = new Set<() => void>();
  readonly #atExit = (): void => {
    for (const child of this.#children.values()) child.kill("SIGKILL");
  };

  constructor() {
    process.once("exit", this.#atExit);
  }

  start(options: RoleProcessOptions): void {
    const child = fork(PROGRAM, [JSON.stringify(options)], { execArgv: [] });
    this.#children.set(options.nodeId, child);
    child.on("message", (messages) => {
      for (const message of messages as RoleProcessMessage[]) this.#heard(options.nodeId, message);
      this.#wake();
    });
    child.once("exit", () => {
      this.#children.delete(options.nodeId);
      this.#wake();
    });
  }

  get running(): number {
    return this.#children.size;
  }

  count(nodeId: string): number {
    return this.rolesOf(nodeId).length;
  }

  rolesOf(nodeId: string): readonly string[] {
    return [...this.leaders].filter(([, leader]) => leader.nodeId === nodeId).map(([role]) => role);
  }

  /** Resolves as soon as the condition holds; checks whenever one of them reports something. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  async renewals(): Promise<number> {
    const counts = [...this.#children.values()].map(async (child) => {
      child.send("renewals");
      for (;;) {
        const [messages] = (await once(child, "message")) as [RoleProcessMessage[]];
        for (const message of messages) if (message.kind === "renewals") return message.count;
      }
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  async kill(nodeId: string): Promise<void> {
    const child = this.#children.get(nodeId);
    if (child === undefined) throw new Error(`${nodeId} does not run`);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Resolves to the exit codes. */
  stop(): Promise<readonly (number | null)[]> {
    const ends = [...this.#children.values()].map(async (child) => {
      const exited = once(child, "exit");
      child.send("stop");
      const [code] = (await exited) as [number | null];
      return code;
    });
    return Promise.all(ends);
  }

  async close(): Promise<void> {
    process.off("exit", this.#atExit);
    await Promise.all([...this.#children.keys()].map((nodeId) => this.kill(nodeId)));
  }

  #heard(nodeId: string, message: RoleProcessMessage): void {
    if (message.kind === "promoted") {
      this.promotions += 1;
      this.leaders.set(message.role, { nodeId, atMs: performance.now() });
    } else if (message.kind === "demoted" && this.leaders.get(message.role)?.nodeId === nodeId) {
      this.leaders.set(message.role, { nodeId: null, atMs: performance.now() });
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
