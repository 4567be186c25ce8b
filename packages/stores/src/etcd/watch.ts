import type { ClientDuplexStream } from "@grpc/grpc-js";
import { BackendUnavailableError, type Entry, type Revision } from "@tenure/core";
import { ChangeLog } from "./change-log.js";
import type { Connection } from "./connection.js";
import { messageOf } from "./failures.js";
import type { Keyspace } from "./keyspace.js";
import type { WatchRequest, WatchResponse } from "./protocol.js";
import type { Snapshot } from "./snapshot.js";

export interface WatchParts {
  readonly connection: Connection;
  readonly keyspace: Keyspace;
  /** What happens after it is told. */
  readonly snapshot: Pick<Snapshot, "revision" | "batches">;
  readonly onChanges: (entries: readonly Entry[], revision: Revision) => void;
  /** Called once, unless it was ended by `end`. */
  readonly onBroken: (reason: BackendUnavailableError) => void;
}

/** After so long without a word the member is asked whether it is there, and how far it is. */
const SILENCE_MS = 1000;

/** What one member tells of what happens after a snapshot. */
export class Watch {
  readonly #parts: WatchParts;
  readonly #log: ChangeLog;
  readonly #stream: ClientDuplexStream<WatchRequest, WatchResponse>;
  /** Runs out in silence. */
  readonly #timer: NodeJS.Timeout;
  #hasEnded = false;

  constructor(parts: WatchParts) {
    const { connection, keyspace, snapshot } = parts;
    this.#parts = parts;
    this.#log = new ChangeLog(keyspace, snapshot);
    this.#stream = connection.watch();
    this.#stream.on("data", (response: WatchResponse) => this.#take(response));
    this.#stream.on("error", (cause) => this.#break(messageOf(cause), cause));
    this.#stream.on("end", () => this.#break("etcd ended it"));
    const range = { key: keyspace.head, range_end: keyspace.end, start_revision: snapshot.revision + 1 };
    this.#stream.write({ create_request: { ...range, fragment: true } });
    this.#timer = setTimeout(() => void this.#look(), SILENCE_MS);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#stream.cancel();
  }

  #take(response: WatchResponse): void {
    if (this.#hasEnded) return;
    this.#timer.refresh();
    const reading = this.#log.read(response);
    if (reading.kind === "changes") this.#parts.onChanges(reading.entries, reading.revision);
    if (reading.kind !== "broken") return;
    // Of an invalid token a watch is told by words alone.
    if (response.canceled === true) this.#parts.connection.forgetLogin();
    this.#break(reading.why);
  }

  async #look(): Promise<void> {
    try {
      const revision = await this.#parts.connection.check();
      if (this.#hasEnded) return;
      if (this.#log.isHalted(revision)) return this.#break("it stays behind what its member has");
      this.#timer.refresh();
    } catch (cause) {
      this.#break(messageOf(cause), cause);
    }
  }

  #break(why: string, cause?: unknown): void {
    if (this.#hasEnded) return;
    this.end();
    this.#parts.onBroken(new BackendUnavailableError(`the watch of etcd broke: ${why}`, { cause }));
  }
}
