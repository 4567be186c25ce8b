import type { Msg, MsgHdrs } from "@nats-io/transport-node";
import {
  BackendUnavailableError,
  type CasOp,
  type Entry,
  InvalidRequestError,
  type Revision,
} from "@tenure/core";
import { AcknowledgedRevisions } from "./acknowledged-revisions.js";
import { BarrierSubjects } from "./barrier-subjects.js";
import type { AskOptions, Connection, ConnectionSource, Parcel } from "./connection.js";
import {
  isJetStreamError,
  isUnserved,
  JETSTREAM,
  lastingFailure,
  readApiAnswer,
  readPublishAnswer,
  unserved,
  WITHOUT_JETSTREAM,
} from "./failures.js";
import { isBarrierName, keyNameOf, keyOfName } from "./key-names.js";
import type { NatsOptions } from "./options.js";
import { checkStreamConfig, newStreamConfig, type StreamConfig } from "./stream-settings.js";

interface StreamInfo {
  readonly config: StreamConfig;
}

const EXPECTED = "Nats-Expected-Last-Subject-Sequence";
const REPLACED = "Tenure-Replaced";
const WHOLE_NAME = "Tenure-Key";
/** More than the headers of a write need, apart from the name of a long key. */
const HEADER_BYTES = 512;

/** Timeout for opening the bucket over an open connection. A cluster that has just started needs some seconds. */
const OPEN_MS = 5000;
const ASK_MS = 1000;
const POLL_MS = 50;

/** A key-value bucket: a stream that keeps the last message of each subject. */
export class Bucket {
  readonly name: string;
  readonly stream: string;
  readonly #prefix: string;
  readonly #connections: ConnectionSource;
  readonly #barriers = new BarrierSubjects();
  readonly #acknowledged = new AcknowledgedRevisions();
  #replicas = 1;

  private constructor(connections: ConnectionSource, name: string) {
    this.#connections = connections;
    this.name = name;
    this.stream = `KV_${name}`;
    this.#prefix = `$KV.${name}.`;
    connections.onStatus(() => this.unlearn());
  }

  /** Finds or creates the bucket, checks its settings, and waits until it can be written to. */
  static async open(
    connections: ConnectionSource,
    options: NatsOptions,
    signal?: AbortSignal,
  ): Promise<Bucket> {
    const bucket = new Bucket(connections, options.bucket);
    const giveUpAtMs = performance.now() + OPEN_MS;
    for (;;) {
      signal?.throwIfAborted();
      try {
        await bucket.#openOnce(connections.current(), options);
        return bucket;
      } catch (error) {
        const isOver = performance.now() > giveUpAtMs;
        const lasting = lastingFailure(error, isOver);
        if (lasting !== null) throw lasting;
        if (isOver) throw unopened(options.bucket, error);
      }
      // A cluster without a leader does not answer, or answers that it has none.
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  }

  /** How many servers keep each entry. */
  get replicas(): number {
    return this.#replicas;
  }

  /** Why this server must not be written to; `null` if it may. */
  problemOf(connection: Connection, replicas: number = this.#replicas): string | null {
    if (replicas === 1 || !comparesTooEarly(connection.version)) return null;
    const why = "before 2.9.21 several comparisons win at once in a replicated bucket";
    return `must be 1 with nats-server ${connection.version}: ${why}; upgrade every server of the cluster`;
  }

  /** Without a message id: a server that recognizes one answers as if it had written, with the revision of another write. */
  parcelOf({ key, expected, value }: CasOp): Parcel {
    const { name, whole } = keyNameOf(key);
    const subject = this.#prefix + name;
    const headers = this.#headersOf(subject);
    headers.set(EXPECTED, String(expected ?? 0));
    if (whole !== null) headers.set(WHOLE_NAME, whole);
    return { subject, payload: value, headers };
  }

  /** Refuses a message that exceeds the size limit of the server, before anything is sent. */
  checkSize({ key, value }: CasOp, connection: Connection): void {
    // At most three bytes per character of a value, and nine per character of a key: most messages need not be measured.
    if (3 * value.length + 9 * key.length + HEADER_BYTES <= connection.maxMessageBytes) return;
    const bytes = Buffer.byteLength(value) + (keyNameOf(key).whole?.length ?? 0) + HEADER_BYTES;
    if (bytes > connection.maxMessageBytes) {
      const problem = `of ${key} takes ${bytes} bytes, the server admits ${connection.maxMessageBytes} (max_payload)`;
      throw new InvalidRequestError("value", problem);
    }
  }

  /**
   * The entry of a message; `null` for a barrier, and for what is not ours. Deletions by `nats kv del` are entries with
   * an empty value: their revision counts, and the next write replaces them.
   */
  entryOf(message: Msg, revision: Revision): Entry | null {
    const name = message.subject.slice(this.#prefix.length);
    if (isBarrierName(name)) this.#barriers.see(name, message.string());
    const key = keyOfName(name, () => message.headers?.get(WHOLE_NAME));
    if (key === null) return null;
    const { buffer, byteOffset, byteLength } = message.data;
    return { key, value: Buffer.from(buffer, byteOffset, byteLength).toString("utf8"), revision };
  }

  /** Earlier revisions of the same subject, as far as the message contains them. */
  replacedBy({ headers }: Msg): readonly Revision[] {
    if (headers === undefined) return [];
    return [headers.get(EXPECTED), ...headers.get(REPLACED).split(" ")].map(Number);
  }

  /** The message was written at `revision`. */
  learn({ subject }: Parcel, revision: Revision): void {
    this.#acknowledged.add(subject, revision);
  }

  /** After a failure the stream may have lost acknowledged writes and use the same revisions again. */
  unlearn(): void {
    this.#acknowledged.clear();
  }

  /**
   * A write of nothing, whose revision lies above those of all writes acknowledged before it was sent: one leader gives
   * them out, in the order of its log, and its acknowledgement shows that a quorum follows it.
   */
  async barrier(connection: Connection, options: AskOptions): Promise<Revision> {
    const name = this.#barriers.take();
    const subject = this.#prefix + name;
    const parcel = { subject, payload: this.#barriers.owner, headers: this.#headersOf(subject) };
    try {
      const answer = readPublishAnswer(await connection.ask(parcel, options), this.stream);
      switch (answer.kind) {
        case "written":
          this.learn(parcel, answer.revision);
          return answer.revision;
        case "unknown":
          throw new BackendUnavailableError(`the bucket ${this.name} cannot be written to`, {
            cause: answer.cause,
          });
        case "unserved":
        case "refused":
          throw unserved(this.name);
      }
    } finally {
      this.#barriers.giveBack(name);
    }
  }

  #headersOf(subject: string): MsgHdrs {
    const headers = this.#connections.headers();
    const replaced = this.#acknowledged.of(subject);
    if (replaced.length > 0) headers.set(REPLACED, replaced.join(" "));
    return headers;
  }

  async #openOnce(connection: Connection, options: NatsOptions): Promise<void> {
    const config = (await this.#find(connection)) ?? (await this.#make(connection, options));
    checkStreamConfig(this.name, config, options.replicas);
    this.#replicas = config.num_replicas;
    this.#checkServer(connection);
    await this.barrier(connection, { limitMs: ASK_MS });
  }

  #checkServer(connection: Connection, replicas?: number): void {
    const problem = this.problemOf(connection, replicas);
    if (problem !== null) throw new InvalidRequestError("replicas", problem);
  }

  async #find(connection: Connection): Promise<StreamConfig | null> {
    try {
      return await this.#askStream(connection, "INFO", "");
    } catch (error) {
      if (isJetStreamError(error, JETSTREAM.streamNotFound)) return null;
      throw error;
    }
  }

  async #make(connection: Connection, { create, replicas = 1 }: NatsOptions): Promise<StreamConfig> {
    if (!create) {
      const allow = "allow it to be made (bucketAutoCreate: true of openElector, create=true in the URL)";
      const problem = `${this.name} does not exist; make it (nats kv add ${this.name}), or ${allow}`;
      throw new InvalidRequestError("bucket", problem);
    }
    this.#checkServer(connection, replicas);
    try {
      return await this.#askStream(
        connection,
        "CREATE",
        JSON.stringify(newStreamConfig(this.name, replicas)),
      );
    } catch (error) {
      // Another process has made it with other settings, since we looked.
      const found = isJetStreamError(error, JETSTREAM.streamNameInUse) ? await this.#find(connection) : null;
      if (found === null) throw error;
      return found;
    }
  }

  async #askStream(connection: Connection, verb: "INFO" | "CREATE", payload: string): Promise<StreamConfig> {
    const reply = await connection.ask(
      { subject: `$JS.API.STREAM.${verb}.${this.stream}`, payload },
      { limitMs: ASK_MS },
    );
    if (isUnserved(reply)) {
      if (!connection.hasJetStream && !connection.isClustered)
        throw new InvalidRequestError("store", WITHOUT_JETSTREAM);
      throw new BackendUnavailableError("JetStream is not enabled, or its cluster has no leader");
    }
    return readApiAnswer<StreamInfo>(reply).config;
  }
}

function unopened(bucket: string, cause: unknown): BackendUnavailableError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new BackendUnavailableError(
    `the bucket ${bucket} cannot be opened (${why}); has the cluster a majority of its servers?`,
    { cause },
  );
}

/** From this version on a write is compared when it is written, not only when it is accepted. */
const COMPARES_LATE = [2, 9, 21] as const;

/**
 * Before 2.9.21 the leader of a replicated stream compares a write only when it accepts it, with what it has written so far: of
 * several concurrent writes all win. Streams with one replica were never affected.
 *
 * A client cannot work around this. Message ids are checked when a message is written, and one id per revision does leave one
 * winner; but a server that restarts replays its log without the ids of replaced messages, accepts what it had refused, and numbers
 * everything after it differently from the other servers.
 */
export function comparesTooEarly(version: string): boolean {
  const numbers = version.split(/[.-]/, 3).map(Number);
  for (const [i, least] of COMPARES_LATE.entries()) {
    const number = numbers[i] ?? 0;
    if (number !== least) return !(number > least);
  }
  return false;
}
