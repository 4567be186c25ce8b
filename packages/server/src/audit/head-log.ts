import type { CancelTimer, Clock } from "@tenure/core";
import type { Logger } from "pino";
import type { AuditFile } from "./audit-file.js";

/**
 * Writes the head of the audit file to the log of the server from time to time, if it has changed, and at the end. Where the log is
 * shipped to another system, that system holds what proves a rewritten chain.
 */
export class HeadLog {
  readonly #file: AuditFile;
  readonly #path: string;
  readonly #everyMs: number;
  readonly #log: Logger;
  readonly #clock: Clock;
  #lastHash: string | null = null;
  #cancel: CancelTimer;

  constructor(
    file: AuditFile,
    path: string,
    everySeconds: number,
    { log, clock }: { readonly log: Logger; readonly clock: Clock },
  ) {
    this.#file = file;
    this.#path = path;
    this.#everyMs = everySeconds * 1000;
    this.#log = log;
    this.#clock = clock;
    this.#cancel = this.#arm();
  }

  close(): void {
    this.#cancel();
    this.#report();
  }

  #arm(): CancelTimer {
    return this.#clock.after(this.#everyMs, () => {
      this.#report();
      this.#cancel = this.#arm();
    });
  }

  #report(): void {
    const { seq, hash } = this.#file.head;
    if (seq === 0 || hash === this.#lastHash) return;
    this.#lastHash = hash;
    this.#log.info({ event: "audit-head", file: this.#path, seq, hash }, "head of the audit log");
  }
}
