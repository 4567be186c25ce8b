/**
 * Who the reader says to be. A token stays in this tab (sessionStorage), and is only ever sent as a header; a client
 * certificate is the browser's own affair. What the reader may do is for the service to say: the role read here only
 * spares them a refusal.
 */
const KEY = "tenure-token";

export interface Claims {
  readonly name: string | null;
  readonly role: "admin" | "node" | "observer" | null;
}

export class Session {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  get token(): string | null {
    return this.#storage.getItem(KEY);
  }

  signIn(token: string): void {
    this.#storage.setItem(KEY, token.trim());
  }

  signOut(): void {
    this.#storage.removeItem(KEY);
  }

  get claims(): Claims {
    return claimsOf(this.token);
  }

  headers(): Record<string, string> {
    const { token } = this;
    return token === null ? {} : { authorization: `Bearer ${token}` };
  }
}

/** Of a JWT what it says of itself; an opaque token says nothing. */
export function claimsOf(token: string | null): Claims {
  const payload = token?.split(".")[1];
  if (payload === undefined) return { name: null, role: null };
  try {
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const { sub, role = "node" } = JSON.parse(text) as { sub?: unknown; role?: unknown };
    const isKnown = role === "admin" || role === "node" || role === "observer";
    return { name: typeof sub === "string" ? sub : null, role: isKnown ? role : null };
  } catch {
    return { name: null, role: null };
  }
}
