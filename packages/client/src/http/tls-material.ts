import { createSecureContext } from "node:tls";
import { type Clock, InvalidRequestError } from "@tenure/core";
import type { TlsOptions } from "./options.js";
import { WatchedFile } from "./watched-file.js";

export interface TlsParts {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

type Part = keyof TlsParts;

/** The parts from which TLS connections are made. A new object whenever a file has changed, and the same one until then. */
export class TlsMaterial {
  readonly #files: ReadonlyMap<Part, WatchedFile>;
  #current: TlsParts;

  private constructor(given: TlsParts, files: ReadonlyMap<Part, WatchedFile>) {
    this.#files = files;
    this.#current = given;
    this.#current = this.#read();
  }

  static async open(options: TlsOptions, clock: Clock): Promise<TlsMaterial> {
    const files = new Map<Part, WatchedFile>();
    const given: { -readonly [K in Part]?: string } = {};
    for (const part of ["ca", "cert", "key"] as const) {
      const pem = options[part];
      const file = options[`${part}File`];
      if (pem !== undefined) given[part] = pem;
      if (file === undefined) continue;
      const problem = (cause: unknown) =>
        new InvalidRequestError(`tls.${part}File`, `cannot be read: ${(cause as Error).message}`, { cause });
      files.set(
        part,
        await WatchedFile.open(file, clock).catch((cause: unknown) => {
          throw problem(cause);
        }),
      );
    }
    const material = new TlsMaterial(given, files);
    try {
      createSecureContext(material.#current);
    } catch (cause) {
      throw new InvalidRequestError("tls", `cannot be used: ${(cause as Error).message}`, { cause });
    }
    return material;
  }

  /** A certificate whose key has not been replaced yet cannot be used: until both are there, the old ones stay. */
  async current(): Promise<TlsParts> {
    if (this.#files.size === 0) return this.#current;
    await Promise.all([...this.#files.values()].map((file) => file.refresh()));
    const next = this.#read();
    if (next === this.#current) return next;
    try {
      createSecureContext(next);
      this.#current = next;
    } catch {
      // The next request looks again.
    }
    return this.#current;
  }

  #read(): TlsParts {
    const before = this.#current;
    const read = Object.fromEntries([...this.#files].map(([part, file]) => [part, file.text]));
    const isSame = [...this.#files].every(([part, file]) => before[part] === file.text);
    return isSame ? before : { ...before, ...read };
  }
}
