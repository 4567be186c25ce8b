import {
  BackendUnavailableError,
  type CasOp,
  type Entry,
  InvalidRequestError,
  type Revision,
} from "@tenure/core";
import type { Msg, MsgHdrs } from "@nats-io/transport-node";
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
import { Heads } from "./heads.js";
import { isHeadName, keyNameOf, keyOfName } from "./key-names.js";
import type { AskOptions, Link, LinkSource, Parcel } from "./link.js";
import type { NatsOptions } from "./options.js";
import { comparesTooEarly } from "./server-version.js";
import { checkStreamConfig, newStreamConfig, type StreamConfig } from "./stream-settings.js";
import { Trail } from "./trail.js";

interface StreamInfo {
  readonly config: StreamConfig;
}

const EXPECTED = "Nats-Expected-Last-Subject-Sequence";
const REPLACED = "Tenure-Replaced";
const WHOLE_NAME = "Tenure-Key";
/** More than the headers of a write ever take, beside the name of a long key. */
const HEADER_BYTES = 512;

/** Bounds the opening of the bucket after the connection is there; a cluster that has just started needs a while. */
const OPEN_MS = 5000;
const ASK_MS = 1000;
const POLL_MS = 50;

/** A key-value bucket: a stream that keeps the last message of each subject. */
export class Bucket {
  readonly name: string;
  readonly stream: string;
  readonly #prefix: string;
  readonly #connection: LinkSource;
  readonly #heads = new Heads();
  readonly #trail = new Trail();
  #replicas = 1;

  private constructor(connection: LinkSource, name: string) {
    this.#connection = connection;
    this.name = name;
    this.stream = `KV_${name}`;
    this.#prefix = `$KV.${name}.`;
    connection.onStatus(() => this.unlearn());
  }

  /** Finds the bucket or makes it, checks its settings, and waits until it can be written to. */
  static async open(connection: LinkSource, options: NatsOptions, signal?: AbortSignal): Promise<Bucket> {
    const bucket = new Bucket(connection, options.bucket);
    const giveUpAtMs = performance.now() + OPEN_MS;
    for (;;) {
      signal?.throwIfAborted();
      try {
        await bucket.#openOnce(connection.link(), options);
        return bucket;
      } catch (error) {
        const isOver = performance.now() > giveUpAtMs;
        const lasting = lastingFailure(error, isOver);
        if (lasting !== null) throw lasting;
        if (isOver) throw unopened(options.bucket, error);
      }
      // Until a cluster has a leader there is no answer, or one that says so.
      await new Promise((resolve) => {
        setTimeout(resolve, POLL_MS);
      });
    }
  }

  /** How many servers keep each entry. */
  get replicas(): number {
    return this.#replicas;
  }

  /** Why this server may not be written to, if it may not. */
  problemOf(link: Link, replicas: number = this.#replicas): string | null {
    if (replicas === 1 || !comparesTooEarly(link.version)) return null;
    const why = "before 2.9.21 several comparisons win at once in a replicated bucket";
    return `must be 1 with nats-server ${link.version}: ${why}; upgrade every server of the cluster`;
  }

  /** No message id: a server that knows one again answers as if it had written, with the revision of another write. */
  parcelOf({ key, expected, value }: CasOp): Parcel {
    const { name, whole } = keyNameOf(key);
    const subject = this.#prefix + name;
    const headers = this.#headersOf(subject);
    headers.set(EXPECTED, String(expected ?? 0));
    if (whole !== null) headers.set(WHOLE_NAME, whole);
    return { subject, payload: value, headers };
  }

  /** Refuses before anything is sent what no server would take. */
  checkSize({ key, value }: CasOp, link: Link): void {
    // Three bytes for a character at most, and nine for one of a key: most need no count.
    if (3 * value.length + 9 * key.length + HEADER_BYTES <= link.largestMessage) return;
    const bytes = Buffer.byteLength(value) + (keyNameOf(key).whole?.length ?? 0) + HEADER_BYTES;
    if (bytes > link.largestMessage) {
      const problem = `of ${key} takes ${bytes} bytes, the server admits ${link.largestMessage} (max_payload)`;
      throw new InvalidRequestError("value", problem);
    }
  }

  /**
   * The entry of a message; `null` for a barrier, and for what is not ours. Deletions by `nats kv del` are entries with
   * an empty value: their revision counts, and the next write replaces them.
   */
  entryOf(message: Msg, revision: Revision): Entry | null {
    const name = message.subject.slice(this.#prefix.length);
    if (isHeadName(name)) this.#heads.see(name, message.string());
    const key = keyOfName(name, () => message.headers?.get(WHOLE_NAME));
    if (key === null) return null;
    const { buffer, byteOffset, byteLength } = message.data;
    return { key, value: Buffer.from(buffer, byteOffset, byteLength).toString("utf8"), revision };
  }

  /** Earlier revisions of the same subject, as far as the message tells: what it was compared with, and a trail. */
  replacedBy({ headers }: Msg): readonly Revision[] {
    if (headers === undefined) return [];
    return [headers.get(EXPECTED), ...headers.get(REPLACED).split(" ")].map(Number);
  }

  /** It was written. */
  learn({ subject }: Parcel, revision: Revision): void {
    this.#trail.add(subject, revision);
  }

  /** After a failure: the stream may have lost what it acknowledged, and give out the same revisions again. */
  unlearn(): void {
    this.#trail.clear();
  }

  /**
   * A write of nothing, whose revision lies above those of all writes acknowledged before it was sent: one leader gives
   * them out, in the order of its log, and its acknowledgement shows that a quorum follows it.
   */
  async barrier(link: Link, options: AskOptions): Promise<Revision> {
    const name = this.#heads.take();
    const subject = this.#prefix + name;
    const parcel = { subject, payload: this.#heads.owner, headers: this.#headersOf(subject) };
    try {
      const answer = readPublishAnswer(await link.ask(parcel, options), this.stream);
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
      this.#heads.giveBack(name);
    }
  }

  #headersOf(subject: string): MsgHdrs {
    const headers = this.#connection.headers();
    const trail = this.#trail.of(subject);
    if (trail.length > 0) headers.set(REPLACED, trail.join(" "));
    return headers;
  }

  async #openOnce(link: Link, options: NatsOptions): Promise<void> {
    const config = (await this.#find(link)) ?? (await this.#make(link, options));
    checkStreamConfig(this.name, config, options.replicas);
    this.#replicas = config.num_replicas;
    this.#checkServer(link);
    await this.barrier(link, { limitMs: ASK_MS });
  }

  #checkServer(link: Link, replicas?: number): void {
    const problem = this.problemOf(link, replicas);
    if (problem !== null) throw new InvalidRequestError("replicas", problem);
  }

  async #find(link: Link): Promise<StreamConfig | null> {
    try {
      return await this.#askStream(link, "INFO", "");
    } catch (error) {
      if (isJetStreamError(error, JETSTREAM.streamNotFound)) return null;
      throw error;
    }
  }

  async #make(link: Link, { create, replicas = 1 }: NatsOptions): Promise<StreamConfig> {
    if (!create) {
      const allow = "allow it to be made (bucketAutoCreate: true of openElector, create=true in the URL)";
      const problem = `${this.name} does not exist; make it (nats kv add ${this.name}), or ${allow}`;
      throw new InvalidRequestError("bucket", problem);
    }
    this.#checkServer(link, replicas);
    try {
      return await this.#askStream(link, "CREATE", JSON.stringify(newStreamConfig(this.name, replicas)));
    } catch (error) {
      // Another process has made it with other settings, since we looked.
      const found = isJetStreamError(error, JETSTREAM.streamNameInUse) ? await this.#find(link) : null;
      if (found === null) throw error;
      return found;
    }
  }

  async #askStream(link: Link, verb: "INFO" | "CREATE", payload: string): Promise<StreamConfig> {
    const reply = await link.ask(
      { subject: `$JS.API.STREAM.${verb}.${this.stream}`, payload },
      { limitMs: ASK_MS },
    );
    if (isUnserved(reply)) {
      if (!link.hasJetStream && !link.isClustered) throw new InvalidRequestError("store", WITHOUT_JETSTREAM);
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
