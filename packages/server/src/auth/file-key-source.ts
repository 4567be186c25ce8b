import { createLocalJWKSet } from "jose";
import { type KeySet, type KeySource, parseJwks } from "./key-source.js";
import type { AuthDeps } from "./deps.js";
import { ReloadedFiles } from "./reloaded-files.js";

const NO_KEYS: KeySet = createLocalJWKSet({ keys: [] });

/** A JWKS in a file, followed as it changes. */
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
      // Deleted: its keys are withdrawn. Broken, by an edit for example: those before stay.
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

  /** Nothing to do: a change of the file is noticed by itself, and strangers must not make us read it. */
  async refresh(): Promise<void> {}

  /** Looks now whether the file has changed. */
  look(): Promise<void> {
    return this.#file.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}
