import type { ClientDuplexStream } from "@grpc/grpc-js";
import { BackendUnavailableError, type FeedSink } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import { ChangeLog } from "./change-log.js";
import type { Connection } from "./connection.js";
import { messageOf } from "./failures.js";
import type { Keyspace } from "./keyspace.js";
import type { WatchRequest, WatchResponse } from "./protocol.js";
import type { Snapshot } from "./snapshot.js";

export interface WatchDeps {
  readonly connection: Connection;
  readonly keyspace: Keyspace;
  /** The watch delivers what happens after it. */
  readonly snapshot: Pick<Snapshot, "revision" | "batches">;
  readonly sink: Pick<FeedSink, "changes" | "fail">;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** After this time without a message the member is asked whether it is there, and which batch it has applied last. */
const SILENCE_MS = 1000;

/** Delivers the changes after a snapshot, as one member reports them. */
export class Watch {
  readonly #deps: WatchDeps;
  readonly #log: ChangeLog;
  #stream: ClientDuplexStream<WatchRequest, WatchResponse> | null = null;
  #silence: NodeJS.Timeout | undefined;
  #stopListening = (): void => {};

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    this.#log = new ChangeLog(deps.keyspace, deps.snapshot);
  }

  /** Throws if the connection has ended. */
  start(): void {
    const { connection, keyspace, snapshot, signal } = this.#deps;
    if (signal.aborted) return;
    const stream = connection.watch();
    this.#stream = stream;
    this.#stopListening = onAbort(signal, () => this.#end());
    stream.on("data", (response: WatchResponse) => this.#take(response));
    stream.on("error", (cause) => this.#break(messageOf(cause), cause));
    stream.on("end", () => this.#break("etcd ended it"));
    const range = { key: keyspace.head, range_end: keyspace.end, start_revision: snapshot.revision + 1 };
    stream.write({ create_request: { ...range, fragment: true } });
    this.#silence = setTimeout(() => void this.#checkMember(), SILENCE_MS);
  }

  #end(): void {
    clearTimeout(this.#silence);
    this.#stopListening();
    this.#stream?.cancel();
    this.#stream = null;
  }

  #take(response: WatchResponse): void {
    if (this.#stream === null) return;
    this.#silence?.refresh();
    const reading = this.#log.read(response);
    if (reading.kind === "changes") this.#deps.sink.changes(reading.entries, reading.revision);
    if (reading.kind !== "broken") return;
    // etcd reports an invalid token of a watch by a text alone.
    if (response.canceled === true) this.#deps.connection.forgetLogin();
    this.#break(reading.why);
  }

  async #checkMember(): Promise<void> {
    try {
      const revision = await this.#deps.connection.check();
      if (this.#stream === null) return;
      if (this.#log.isHalted(revision)) return this.#break("it stays behind what its member has");
      this.#silence?.refresh();
    } catch (cause) {
      this.#break(messageOf(cause), cause);
    }
  }

  #break(why: string, cause?: unknown): void {
    if (this.#stream === null) return;
    this.#end();
    this.#deps.sink.fail(new BackendUnavailableError(`the watch of etcd broke: ${why}`, { cause }));
  }
}
