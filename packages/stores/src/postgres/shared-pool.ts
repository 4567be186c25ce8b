import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { PoolClient } from "pg";
import type { ServerAddress } from "../server-url.js";
import { type Connected, greet, type SessionSource } from "./connection.js";
import { isRefusal, sentence } from "./failures.js";
import type { PgPoolLike } from "./pool-like.js";
import { PostgresSession } from "./session.js";

const CHECK_OUT_LIMIT_MS = 2000;
/** Which server it is, only the pool knows. */
const ADDRESS: ServerAddress = { host: "pool", port: 0 };

/** Sessions on connections of a pool that belongs to the program. Each goes back when it has ended. */
export class SharedPool implements SessionSource {
  readonly #pool: PgPoolLike;

  constructor(pool: PgPoolLike) {
    this.#pool = pool;
  }

  async connect(signal: AbortSignal): Promise<Connected> {
    try {
      return await greet(PostgresSession.borrow(await this.#checkOut(signal), ADDRESS), signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof BackendUnavailableError) throw cause;
      if (isRefusal(cause)) {
        throw new InvalidRequestError("pool", `is refused by its server (${sentence(cause)})`, { cause });
      }
      const message = `the pool that was given has no connection that accepts writes (${sentence(cause)})`;
      throw new BackendUnavailableError(message, { cause });
    }
  }

  /** The next attempt is the pool's, wherever that leads. */
  avoid(): void {}

  #checkOut(signal: AbortSignal): Promise<PoolClient> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const end = (): boolean => {
        const wasOver = isOver;
        isOver = true;
        clearTimeout(timer);
        stopListening();
        return !wasOver;
      };
      const timer = setTimeout(() => {
        const why = `the pool that was given had no connection within ${CHECK_OUT_LIMIT_MS} ms; are all of them in use?`;
        if (end()) reject(new BackendUnavailableError(why));
      }, CHECK_OUT_LIMIT_MS);
      const stopListening = onAbort(signal, () => {
        if (end()) reject(signal.reason as Error);
      });
      (this.#pool.connect() as Promise<PoolClient>).then(
        (client) => (end() ? resolve(client) : client.release()),
        (error: unknown) => end() && reject(error as Error),
      );
    });
  }
}
