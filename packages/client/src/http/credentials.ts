import { type Clock, InvalidRequestError } from "@tenure/core";
import { unlessAborted, within } from "@tenure/core/internal";
import { NoAnswerError } from "./carrier.js";
import type { TokenSource } from "./options.js";
import { WatchedFile } from "./watched-file.js";

export interface TokenWait {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** The bearer token: a string, the content of a file, or the result of a function. */
export class Credentials {
  readonly #source: TokenSource | WatchedFile | null;
  readonly #clock: Clock;
  /** The function's last token, shared by all requests. A new one is requested once, however many requests were refused. */
  #given: Promise<string> | null = null;
  /** The last token of the file. */
  #read: string | null = null;

  private constructor(source: TokenSource | WatchedFile | null, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  static async open(token: TokenSource | null, file: string | null, clock: Clock): Promise<Credentials> {
    if (file === null) return new Credentials(token, clock);
    const watched = await WatchedFile.open(file, clock).catch((cause: unknown) => {
      throw new InvalidRequestError("tokenFile", `cannot be read: ${(cause as Error).message}`, { cause });
    });
    return new Credentials(watched, clock);
  }

  /** Rejects with `NoAnswerError` if the token is not available, or not in time. */
  token(wait: TokenWait): Promise<string | null> {
    return this.#within(wait, () => this.#token());
  }

  /** A token other than `refused`, which the service did not accept; `null` if there is none. */
  anotherThan(refused: string | null, wait: TokenWait): Promise<string | null> {
    return this.#within(wait, async () => {
      const source = this.#source;
      if (source === null || typeof source === "string") return null;
      if (source instanceof WatchedFile) {
        await source.refresh(true);
      } else if ((await this.#ask(source)) === refused) {
        this.#given = null;
      }
      const token = await this.#token();
      return token === refused ? null : token;
    });
  }

  async #token(): Promise<string | null> {
    const source = this.#source;
    if (source === null) return null;
    if (typeof source === "string") return checked(source);
    if (!(source instanceof WatchedFile)) return this.#ask(source);
    await source.refresh();
    try {
      this.#read = checked(source.text);
    } catch (error) {
      // A file that is being written is empty for a moment. Until it has a token, the last one stays in use.
      if (this.#read === null) throw error;
    }
    return this.#read;
  }

  #ask(source: () => string | Promise<string>): Promise<string> {
    if (this.#given !== null) return this.#given;
    const given = (async () => checked(await source()))();
    this.#given = given;
    // A failure is passed to the callers that wait for it, and is not kept.
    given.catch(() => {
      if (this.#given === given) this.#given = null;
    });
    return given;
  }

  async #within<T>({ timeoutMs, signal }: TokenWait, work: () => Promise<T>): Promise<T> {
    const late = () => new Error(`it did not come within ${Math.round(timeoutMs)} ms`);
    try {
      const limit = { limitMs: timeoutMs, signal, late };
      return await within(this.#clock, limit, (ended) => unlessAborted(ended, work()));
    } catch (cause) {
      signal?.throwIfAborted();
      const problem = `no token could be had: ${(cause as Error)?.message ?? String(cause)}`;
      throw new NoAnswerError(problem, { isUnsent: true, isStale: false }, { cause });
    }
  }
}

/** Visible characters only: any other character would break the header or allow header injection. */
function checked(text: unknown): string {
  const token = typeof text === "string" ? text.trim() : "";
  if (!/^[!-~]+$/.test(token)) throw new Error("a token must be visible characters without spaces");
  return token;
}
