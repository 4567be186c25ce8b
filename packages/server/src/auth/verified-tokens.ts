import type { JWTPayload } from "jose";
import type { BearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";

interface Entry {
  readonly caller: Caller;
  readonly expiresAt: number;
  readonly validFrom: number;
}

const MAX_TOKENS = 10_000;

/**
 * Tokens whose signature was found good, by digest, so that memory holds nobody's token. The least recently used goes
 * first. Only verified tokens come in, so that strangers cannot push them out.
 */
export class VerifiedTokens {
  readonly #entries = new Map<string, Entry>();
  readonly #toleranceSeconds: number;
  readonly #most: number;

  constructor(toleranceSeconds: number, most: number = MAX_TOKENS) {
    this.#toleranceSeconds = toleranceSeconds;
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(token: BearerToken, wallMs: number): Caller | undefined {
    const key = keyOf(token);
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    const now = Math.floor(wallMs / 1000);
    const isOver = entry.expiresAt <= now - this.#toleranceSeconds;
    // The wall clock may have been set back.
    const isEarly = entry.validFrom > now + this.#toleranceSeconds;
    if (isOver || isEarly) return undefined;
    this.#entries.set(key, entry);
    return entry.caller;
  }

  remember(token: BearerToken, caller: Caller, { exp, nbf }: JWTPayload): void {
    if (exp === undefined) return;
    this.#entries.set(keyOf(token), { caller, expiresAt: exp, validFrom: nbf ?? Number.NEGATIVE_INFINITY });
    if (this.#entries.size <= this.#most) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  clear(): void {
    this.#entries.clear();
  }
}

function keyOf(token: BearerToken): string {
  return token.digest.toString("latin1");
}
