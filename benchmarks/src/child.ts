/** A process of a benchmark: it is asked one thing at a time, and is gone when its owner is. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const OWN = fileURLToPath(new URL(".", import.meta.url));

/** The path of a script of the benchmarks in another checkout of this repository. */
export function scriptIn(checkout: string, script: string): string {
  return join(resolve(checkout), "benchmarks/dist", script);
}

type Reply<Answer> = { readonly answer: Answer } | { readonly failed: string };

/** In the owner. `Question` and `Answer` are what the script passes to `answerOwner`. */
export class Child<Question, Answer> {
  readonly #process: ChildProcess;
  readonly #ended: Promise<never>;

  /** `script` is a path, or lies beside this file. `inside` comes before the command: where the process runs. */
  constructor(
    script: string,
    args: readonly string[] = [],
    execArgv: readonly string[] = [],
    inside: readonly string[] = [],
  ) {
    const [file = "", ...command] = [...inside, process.execPath, ...execArgv, resolve(OWN, script), ...args];
    this.#process = spawn(file, command, { stdio: ["inherit", "inherit", "inherit", "ipc"] });
    this.#ended = once(this.#process, "exit").then(([code]) => {
      throw new Error(`${script} ended with ${String(code)}`);
    });
    this.#ended.catch(() => {});
  }

  async ask(question: Question): Promise<Answer> {
    const replied = new Promise<Reply<Answer>>((resolve) => this.#process.once("message", resolve));
    this.#process.send(question as object);
    const reply = await Promise.race([replied, this.#ended]);
    if ("failed" in reply) throw new Error(reply.failed);
    return reply.answer;
  }

  /** It runs no more and answers nothing, but its connections stay open. */
  freeze(): void {
    this.#process.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process.kill("SIGCONT");
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }
}

/** In the child. */
export function answerOwner<Question, Answer>(answer: (question: Question) => Promise<Answer>): void {
  process.on("disconnect", () => process.exit());
  process.on("message", (question: Question) => {
    answer(question).then(
      (given) => process.send?.({ answer: given }),
      (error: unknown) => process.send?.({ failed: error instanceof Error ? error.stack : String(error) }),
    );
  });
}
