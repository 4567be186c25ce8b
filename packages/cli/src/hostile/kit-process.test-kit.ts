import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/**
 * A process of a test, which gets orders and sends messages. It dies with the test's own process: the kernel sees to it.
 * It runs the build that `npm test` makes first: a child process has no TypeScript.
 */
export class KitProcess<Order extends object, Message extends { readonly kind: string }> {
  readonly messages: Message[] = [];
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #waiting: (() => void)[] = [];

  /** `before`: a prefix of the command, such as `nice`. */
  constructor(script: string, options: object, before: readonly string[] = []) {
    this.#name = script;
    const file = fileURLToPath(new URL(`../../dist/hostile/${script}.test-kit.js`, import.meta.url));
    const words = ["--pdeathsig=KILL", "--", ...before, process.execPath, file, JSON.stringify(options)];
    this.#child = spawn("setpriv", words, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (message: Message) => {
      this.messages.push(message);
      this.#wake();
    });
    this.#exited = once(this.#child, "exit").then(() => this.#wake());
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  /** The first message of this kind after the first `from` of all kinds; rejects if the process ends without it. */
  async message<Kind extends Message["kind"]>(
    kind: Kind,
    from = 0,
  ): Promise<Extract<Message, { kind: Kind }>> {
    for (;;) {
      const found = this.messages.slice(from).find((message) => message.kind === kind);
      if (found !== undefined) return found as Extract<Message, { kind: Kind }>;
      if (!this.isRunning) throw new Error(`${this.#name} ended (${this.#child.exitCode}) without "${kind}"`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  exited(): Promise<unknown> {
    return this.#exited;
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#child.kill("SIGKILL");
    await this.#exited;
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
