/**
 * Who the reader says to be. A token stays in this tab (sessionStorage), and is only ever sent as a header; a client
 * certificate is the browser's own affair. Who the reader is, and what they may do, is for the service to say.
 */
const KEY = "tenure-token";

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

  headers(): Record<string, string> {
    const { token } = this;
    return token === null ? {} : { authorization: `Bearer ${token}` };
  }
}
