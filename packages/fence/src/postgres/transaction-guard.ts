import { TransactionEndedError } from "../errors.js";
import type { SqlClient, SqlResult } from "./sql-client.js";
import { isInFailedTransaction } from "./sql-errors.js";

/** Of statements that end a transaction. That of ROLLBACK TO SAVEPOINT is ROLLBACK, too. */
const ENDS: ReadonlySet<string | undefined> = new Set(["COMMIT", "ROLLBACK", "PREPARE TRANSACTION"]);

/**
 * Notices when work ends the transaction that it runs in. The server knows: a setting that is local to the transaction, the
 * mark, is gone with it, whatever text ended it and whatever was begun since.
 */
export class TransactionGuard<C extends SqlClient> {
  /** For the work: after a statement that may have ended the transaction, nothing more is sent unless the mark is there. */
  readonly client: C;
  readonly #behind: C;
  readonly #mark: string;
  #isSuspect = false;

  constructor(client: C, mark: string) {
    this.#behind = client;
    this.#mark = mark;
    const query = (...given: unknown[]): unknown => this.#query(given);
    this.client = new Proxy(client, {
      get: (target, name) => {
        if (name === "query") return query;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /** Rejects with `TransactionEndedError` if the transaction has ended. */
  async check(): Promise<void> {
    const text = "SELECT current_setting('tenure.fence', true) AS mark";
    const { rows } = await this.#behind.query(text).catch((error: unknown) => {
      if (!isInFailedTransaction(error)) throw error;
      const why = "the transaction was rolled back: a statement in it had failed, and the work went on";
      throw new Error(why, { cause: error });
    });
    if ((rows[0] as { mark?: unknown } | undefined)?.mark === this.#mark) {
      this.#isSuspect = false;
      return;
    }
    throw new TransactionEndedError(
      "the work ended its fenced transaction itself; remove its COMMIT or ROLLBACK, fenced() does that",
    );
  }

  #query(given: unknown[]): unknown {
    const send = (): unknown => this.#behind.query(...(given as [string]));
    const sent = this.#isSuspect ? this.check().then(send) : send();
    // Cursors and calls with a callback return no promise; `check` before COMMIT is for them.
    if (sent instanceof Promise) return sent.then((result: unknown) => this.#look(result));
    return sent;
  }

  #look<T>(result: T): T {
    // One result for each statement of the text.
    const results = [result].flat() as readonly (Partial<SqlResult> | undefined)[];
    if (results.some((each) => ENDS.has(each?.command))) this.#isSuspect = true;
    return result;
  }
}
