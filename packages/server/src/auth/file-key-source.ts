import type { KeySet } from "@tenure/fence/internal";
import { createLocalJWKSet } from "jose";
import { type KeySource, parseJwks } from "./key-source.js";
import type { AuthDeps } from "./deps.js";
import { ReloadedFiles } from "./reloaded-files.js";

const NO_KEYS: KeySet = createLocalJWKSet({ keys: [] });

/** A JWKS in a file, read again whenever the file changes. */
export class FileKeySource implements KeySource {
  readonly origin: string;
  readonly #file: ReloadedFiles<KeySet>;

  private constructor(origin: string, file: ReloadedFiles<KeySet>) {
    this.origin = origin;
    this.#file = file;
  }

  static async open(path: string, { clock, log, onRevoked }: AuthDeps): Promise<FileKeySource> {
    const file: ReloadedFiles<KeySet> = await ReloadedFiles.open<KeySet>({
      paths: [path],
      clock,
      parse: ([content]) => parseJwks(String(content), path),
      onChange: () => {
        log.info(`${path} has changed: tokens are verified with its new keys`);
        onRevoked?.();
      },
      // A deleted file withdraws its keys. A broken file, after an edit for example, leaves the previous keys in use.
      fallback: (isGone) => (isGone ? NO_KEYS : undefined),
      onRefused: (error) => {
        const isWithdrawn = file.current === NO_KEYS;
        log.warn(
          `${error.message}; ${isWithdrawn ? "no token is accepted until the file is back" : "the previous keys stay in use"}`,
        );
        if (isWithdrawn) onRevoked?.();
      },
    });
    return new FileKeySource(path, file);
  }

  get keys(): KeySet {
    return this.#file.current;
  }

  /** Does nothing: changes of the file are noticed anyway, and unauthenticated callers must not cause reads. */
  async refresh(): Promise<void> {}

  /** Checks at once whether the file has changed. */
  look(): Promise<void> {
    return this.#file.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}
