import { Worker } from "node:worker_threads";
import { HeartThreadError, ThreadRenewalError } from "./errors.js";
import type { FromThread, LeadOrder, ToThread } from "./messages.js";
import type { ElectorDescription } from "./thread-elector.js";
import type { HeartParts } from "../election/heart.js";

export type Tenant = Pick<HeartParts, "renewed" | "notLeader" | "failed">;

/** The thread that renews, for any number of terms; it ends with the last of them. */
export class HeartThread {
  readonly #worker: Worker;
  readonly #tenants = new Map<number, Tenant>();
  #lastId = 0;
  #failure: HeartThreadError | null = null;
  #closed = false;

  constructor(elector: ElectorDescription) {
    this.#worker = new Worker(new URL("./heart-thread-main.js", import.meta.url), {
      name: "tenure-heart",
      workerData: elector,
    });
    this.#worker.on("message", (message: FromThread) => this.#take(message));
    this.#worker.on("error", (error) => this.#fail(error.message, error));
    this.#worker.on("messageerror", (error) => this.#fail(error.message, error));
    this.#worker.on("exit", (code) => this.#fail(`exit code ${code}`));
  }

  /** Whether another term may be given to it. */
  get isOpen(): boolean {
    return !this.#closed && this.#failure === null;
  }

  /** Why nothing is renewed any more. */
  get failure(): HeartThreadError | null {
    return this.#failure;
  }

  /** Has a term renewed, until what is returned is called. */
  lead(order: LeadOrder, tenant: Tenant): () => void {
    const id = (this.#lastId += 1);
    this.#tenants.set(id, tenant);
    this.#send({ kind: "lead", id, order });
    return () => {
      if (!this.#tenants.delete(id)) return;
      this.#send({ kind: "stop", id });
      if (this.#tenants.size === 0) this.#close();
    };
  }

  #close(): void {
    this.#closed = true;
    this.#send({ kind: "close" });
    // What it still has to say to the elector must not keep the process.
    this.#worker.unref();
  }

  #send(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message);
  }

  #take(message: FromThread): void {
    const tenant = this.#tenants.get(message.id);
    switch (message.kind) {
      case "renewed":
        return tenant?.renewed(message.answer, message.seconds);
      case "not-leader":
        return tenant?.notLeader();
      case "failed": {
        const error = new ThreadRenewalError(message.message, message.code);
        return tenant?.failed(error, message.seconds, message.repeated);
      }
    }
  }

  #fail(problem: string, cause?: unknown): void {
    if (!this.isOpen) return;
    this.#failure = new HeartThreadError(`the thread that renews has ended: ${problem}`, { cause });
    for (const tenant of [...this.#tenants.values()]) tenant.failed(this.#failure, 0, false);
  }
}
