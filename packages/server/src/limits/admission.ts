import type { Clock } from "@tenure/core";
import type { Authenticator, Credentials } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { accountOf, addressAccount } from "./account.js";
import { RateLimiter } from "./rate-limiter.js";

export interface Admitted {
  readonly caller: Caller;
  /** Takes what the request costs beyond one request, from the account of the caller. */
  readonly charge: (cost: number) => void;
}

/**
 * What one item of a batch costs, in requests. An item takes about a tenth of the processor time of a request, but writes as much
 * to the store. A process that renews 1,000 leases in one request pays for 251 requests.
 */
const BATCH_ITEM_COST = 0.25;
/** How many groups of a page cost one request, by their processor time. */
const GROUPS_PER_REQUEST = 20;
/** How many events of a watch cost one request. The state of a group costs about three times as much in a watch as in a page. */
export const EVENTS_PER_REQUEST = 10;
/** Failed verifications of a signature per address, as a share of the rate limit. */
const FAILURE_SHARE = 0.1;

/** What `items` in one request cost beyond one request. */
export function batchCost(items: number): number {
  return items * BATCH_ITEM_COST;
}

/** What a page with `items` items costs beyond one request. */
export function pageCost(items: number): number {
  return items / GROUPS_PER_REQUEST;
}

/** Authenticates a request and applies the rate limits. All transports share one instance, so that a limit holds over all of them. */
export class Admission {
  readonly #authenticator: Authenticator;
  readonly #limiter: RateLimiter | null;
  readonly #failures: RateLimiter | null;

  /** `rateLimit`: requests per second and account; `null`: no limit. */
  constructor(authenticator: Authenticator, rateLimit: number | null, clock: Clock) {
    this.#authenticator = authenticator;
    this.#limiter = rateLimit === null ? null : new RateLimiter(rateLimit, clock);
    const failures = rateLimit === null ? null : Math.max(1, rateLimit * FAILURE_SHARE);
    this.#failures = failures === null ? null : new RateLimiter(failures, clock);
  }

  /** Answers at once unless a signature has to be verified. Throws or rejects with `UNAUTHENTICATED` or `RATE_LIMITED`. */
  admit(credentials: Credentials, address: string): Admitted | Promise<Admitted> {
    const found = this.#authenticate(credentials, address);
    if (!(found instanceof Promise)) return this.#admitCaller(found, address);
    return found.then(
      (caller) => this.#admitCaller(caller, address),
      (error: unknown) => {
        // Verifying a signature is costly. A valid one is cached; an invalid one would be verified each time, so it is charged.
        this.#failures?.charge(addressAccount(address), 1);
        throw error;
      },
    );
  }

  /** For requests without authentication. Each `what` has a limit of its own, so that one kind of request cannot use up the limit of another. */
  admitAnybody(what: string, address: string): void {
    this.#limiter?.admit(`${what} ${addressAccount(address)}`);
  }

  #authenticate(credentials: Credentials, address: string): Caller | Promise<Caller> {
    try {
      return this.#authenticator.authenticate(credentials, () =>
        this.#failures?.check(addressAccount(address)),
      );
    } catch (error) {
      this.#limiter?.admit(`refused ${addressAccount(address)}`);
      throw error;
    }
  }

  #admitCaller(caller: Caller, address: string): Admitted {
    const limiter = this.#limiter;
    if (limiter === null) return { caller, charge: chargeNothing };
    // Without authentication every caller has the same name.
    const account = caller.kind === "none" ? addressAccount(address) : accountOf(caller);
    limiter.admit(account);
    return { caller, charge: (cost) => limiter.charge(account, cost) };
  }
}

function chargeNothing(): void {}
