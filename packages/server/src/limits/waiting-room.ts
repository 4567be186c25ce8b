import type { Caller } from "../auth/caller.js";
import { ServiceError } from "../service-error.js";
import { accountOf } from "./account.js";

export type Waiting = "waiting campaigns" | "watches";

export interface Room {
  /** In all. */
  readonly max: number;
  /** Of one caller that is not an admin. */
  readonly maxPerCaller: number;
}

/** 1/20 of the places is reserved for admins, so that an operator gets one however many others wait. */
const ADMIN_RESERVE = 20;

/** The flags that error messages name. */
const OPTIONS: Readonly<Record<Waiting, string>> = {
  "waiting campaigns": "--max-waiting",
  watches: "--max-watches",
};

/**
 * Limits what a server holds open at once, in all and per caller, so that no caller keeps others out. Admins are limited by the
 * total only: without authentication every caller is the same admin.
 */
export class WaitingRoom {
  readonly #rooms: Readonly<Record<Waiting, Room>>;
  readonly #now: Record<Waiting, number> = { "waiting campaigns": 0, watches: 0 };
  /** By account. Callers that hold nothing are not in it. */
  readonly #ofCallers: Readonly<Record<Waiting, Map<string, number>>> = {
    "waiting campaigns": new Map(),
    watches: new Map(),
  };

  constructor(rooms: Readonly<Record<Waiting, Room>>) {
    this.#rooms = rooms;
  }

  /**
   * Takes `count` places at once. Returns how to give some of them back, by default all that are left. Throws
   * `TOO_MANY_WAITING` if there is no room for all.
   */
  enter(what: Waiting, caller: Caller, count = 1): (places?: number) => void {
    const { max, maxPerCaller } = this.#rooms[what];
    const ofCallers = this.#ofCallers[what];
    const account = accountOf(caller);
    const own = ofCallers.get(account) ?? 0;
    if (caller.role !== "admin" && own + count > maxPerCaller) {
      throw full(
        `${caller.name} has ${own} ${what} open on this server, and one caller may have at most ${maxPerCaller} ` +
          `(${OPTIONS[what]}-per-caller); close some, or use another server`,
      );
    }
    const open = caller.role === "admin" ? max : max - Math.floor(max / ADMIN_RESERVE);
    if (this.#now[what] + count > open) {
      throw full(
        `this server has ${this.#now[what]} ${what} open, which is its limit (${OPTIONS[what]}); ` +
          "use another server, or retry later",
      );
    }
    this.#now[what] += count;
    ofCallers.set(account, own + count);
    let inside = count;
    return (places = inside) => {
      const given = Math.min(places, inside);
      inside -= given;
      this.#now[what] -= given;
      const left = (ofCallers.get(account) ?? 0) - given;
      if (left > 0) ofCallers.set(account, left);
      else ofCallers.delete(account);
    };
  }

  count(what: Waiting): number {
    return this.#now[what];
  }
}

function full(message: string): ServiceError {
  return new ServiceError("TOO_MANY_WAITING", message, {}, { retryAfterSeconds: 1 });
}
