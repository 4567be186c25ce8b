import { Worker } from "node:worker_threads";
import { HeartThreadError, ThreadRenewalError } from "./errors.js";
import type { FromThread, LeadOrder, ToThread } from "./messages.js";
import type { ElectorDescription } from "./thread-elector.js";
import type { LeaseRenewerParts } from "../election/lease-renewer.js";

export type Tenant = Pick<LeaseRenewerParts, "renewed" | "notLeader" | "failed" | "broken">;

/** The thread that renews any number of terms until it is closed. */
export class RenewalThread {
  /** Resolves when its elector is open; rejects if the thread fails before. */
  readonly opened: Promise<void>;
  readonly #worker: Worker;
  #settle: { readonly open: () => void; readonly fail: (error: HeartThreadError) => void };
  readonly #tenants = new Map<number, Tenant>();
  #lastId = 0;
  #failure: HeartThreadError | null = null;
  #closed = false;

  constructor(elector: ElectorDescription) {
    this.#settle = { open() {}, fail() {} };
    this.opened = new Promise((resolve, reject) => {
      this.#settle = { open: resolve, fail: reject };
    });
    this.opened.catch(() => {});
    this.#worker = new Worker(new URL("./renewal-thread-main.js", import.meta.url), {
      name: "tenure-renewal",
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

  /** Renews a term until the returned function is called. */
  lead(order: LeadOrder, tenant: Tenant): () => void {
    const id = (this.#lastId += 1);
    this.#tenants.set(id, tenant);
    this.#send({ kind: "lead", id, order });
    return () => {
      if (this.#tenants.delete(id)) this.#send({ kind: "stop", id });
    };
  }

  /** Ends the thread; idempotent. */
  close(): void {
    if (!this.isOpen) return;
    this.#closed = true;
    this.#send({ kind: "close" });
    // Its remaining requests to the elector must not keep the process alive.
    this.#worker.unref();
  }

  #send(message: ToThread): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(message);
  }

  #take(message: FromThread): void {
    if (message.kind === "opened") return this.#settle.open();
    const tenant = this.#tenants.get(message.id);
    switch (message.kind) {
      case "renewed":
        return tenant?.renewed(message.answer, message.seconds);
      case "not-leader":
        return tenant?.notLeader();
      case "broken":
        return tenant?.broken(new HeartThreadError(`a lease can no longer be renewed: ${message.message}`));
      case "failed": {
        const error = new ThreadRenewalError(message.message, message.code);
        return tenant?.failed(error, message.seconds, message.repeated);
      }
    }
  }

  #fail(problem: string, cause?: unknown): void {
    if (!this.isOpen) return;
    const failure = new HeartThreadError(`the thread that renews has ended: ${problem}`, { cause });
    this.#failure = failure;
    this.#settle.fail(failure);
    for (const tenant of [...this.#tenants.values()]) tenant.broken(failure);
  }
}
