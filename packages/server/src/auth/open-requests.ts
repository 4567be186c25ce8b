/**
 * Requests that are being answered, some of them for months: watches, waiting campaigns, long polls. Their senders were
 * authenticated when they began. When credentials are taken back, and every ten seconds for those that expire, they are
 * authenticated again, and whoever would be refused now is cut off.
 */
import type { CancelTimer, Clock } from "@tenure/core";
import { ServiceError } from "../service-error.js";
import type { Authenticator, Credentials } from "./authenticator.js";
import type { Caller } from "./caller.js";

interface OpenRequest {
  readonly caller: Caller;
  readonly credentials: Credentials;
  readonly cut: (reason: ServiceError) => void;
}

export interface OpenRequestsDeps {
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  /** Before a request is cut off. */
  readonly onCut: (caller: Caller, reason: string) => void;
}

const CHECK_MS = 10_000;
/** Authenticated in one turn of the event loop: renewals of others must not wait for all. */
const SLICE = 100;

export class OpenRequests implements Disposable {
  readonly #parts: OpenRequestsDeps;
  readonly #open = new Set<OpenRequest>();
  #cancelCheck: CancelTimer | null = null;
  #checking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(parts: OpenRequestsDeps) {
    this.#parts = parts;
  }

  /** Returns how to say that the request was answered; `null` if there is no need to, because it cannot be cut off. */
  add(caller: Caller, credentials: Credentials, cut: (reason: ServiceError) => void): (() => void) | null {
    // Without authentication there is nothing to lose.
    if (caller.kind === "none") return null;
    const request = { caller, credentials, cut };
    this.#open.add(request);
    this.#checkLater();
    return () => this.#open.delete(request);
  }

  /** Settles when all that were open at the call have been authenticated again. */
  check(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#checkAll());
    return this.#checking;
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    this.#open.clear();
  }

  #checkLater(): void {
    this.#cancelCheck ??= this.#parts.clock.after(CHECK_MS, () => {
      void this.check().then(() => {
        this.#cancelCheck = null;
        if (!this.#isClosed && this.#open.size > 0) this.#checkLater();
      });
    });
  }

  async #checkAll(): Promise<void> {
    let inSlice = 0;
    for (const request of [...this.#open]) {
      if (this.#isClosed) return;
      if (!this.#open.has(request)) continue;
      const refusal = await this.#refusalOf(request);
      // Whatever else failed says nothing about the credentials.
      if (refusal !== null && this.#open.delete(request)) {
        this.#parts.onCut(request.caller, refusal.message);
        request.cut(refusal);
      }
      if (++inSlice % SLICE === 0) await new Promise<void>((resolve) => this.#parts.clock.soon(resolve));
    }
  }

  async #refusalOf({ credentials }: OpenRequest): Promise<ServiceError | null> {
    try {
      const found = this.#parts.authenticator.authenticate(credentials);
      if (found instanceof Promise) await found;
      return null;
    } catch (error) {
      return error instanceof ServiceError && error.code === "UNAUTHENTICATED" ? error : null;
    }
  }
}
