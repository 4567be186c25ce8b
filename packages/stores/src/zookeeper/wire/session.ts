/**
 * One session with one server, from its handshake to its end; it is never resumed on another connection. The server
 * answers a session's requests in the order in which they were sent, and reports each change of a watched node before
 * any answer that knows of it. So answers and events are handed on one by one, in the turn in which they are read: what
 * was heard last is what is newest.
 *
 * Every request is on its way when `call` returns, and is sent once. If its answer never comes, it may have been done.
 */
import type { Socket } from "node:net";
import { BackendUnavailableError, TenureError } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { ServerAddress } from "../../server-url.js";
import type { TlsFiles } from "../../tls-files.js";
import { FrameReader } from "./frame-reader.js";
import { JuteReader, JuteWriter } from "./jute.js";
import {
  CODE,
  type Credentials,
  OP,
  type OpCode,
  readConnected,
  writeConnect,
  writeDigestAuth,
  XID,
} from "./protocol.js";
import { openSocket } from "./socket.js";

export interface SessionOptions {
  readonly timeoutMs: number;
  readonly credentials: Credentials | undefined;
  readonly tls: TlsFiles | undefined;
}

export interface Reply {
  /** The last transaction that the server had applied. */
  readonly zxid: number;
  /** `CODE.ok`, or why there is no body. */
  readonly code: number;
  readonly body: JuteReader;
}

export interface SessionListener {
  /** A watched node has changed. */
  event(kind: number, path: string): void;
  /** An answer was read. Every event of a transaction up to `zxid` came before it. */
  answered(zxid: number): void;
  /** All that had arrived was handed on. */
  idle(): void;
  lost(reason: BackendUnavailableError): void;
}

interface Pending {
  readonly take: (reply: Reply) => void;
  readonly fail: (reason: TenureError) => void;
}

/** Often enough that an idle feed learns within a second how far the store has come. */
const MAX_PING_MS = 1000;
const MAX_GOODBYE_MS = 1000;
const MAX_XID = 0x7fff_ffff;

export class ZookeeperSession {
  readonly #server: ServerAddress;
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  readonly #pending = new Map<number, Pending>();
  readonly #listeners: SessionListener[] = [];
  /** Of the first frame, which has a form of its own. */
  #greeted: ((reader: JuteReader) => void) | null = null;
  #xid = 0;
  #heardAtMs = performance.now();
  #pinging: NodeJS.Timeout | undefined;
  #lost: BackendUnavailableError | null = null;

  private constructor(server: ServerAddress, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
  }

  /** Throws what the network said, `BackendUnavailableError`, or the signal's reason. */
  static async open(
    server: ServerAddress,
    options: SessionOptions,
    signal: AbortSignal,
  ): Promise<ZookeeperSession> {
    const socket = await openSocket(server, options.tls, signal);
    const session = new ZookeeperSession(server, socket);
    const abort = (): void => session.#lose("it was not answered in time");
    try {
      const greeted = session.#greet(options);
      if (signal.aborted) abort();
      await greeted.finally(onAbort(signal, abort));
      return session;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Why nothing can be sent any more; `null` while it can. */
  get lost(): BackendUnavailableError | null {
    return this.#lost;
  }

  /** Listeners are called in the order in which they came. */
  listen(listener: SessionListener): void {
    this.#listeners.push(listener);
  }

  /**
   * `take` reads the answer, in the turn in which it arrives; a `TenureError` thrown by it is what the call rejects with,
   * and any other means that the session cannot go on. Rejects with `lost` if there is no answer; if the session was
   * lost before, nothing was sent.
   */
  call<T>(op: OpCode, write: (writer: JuteWriter) => void, take: (reply: Reply) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== null) return reject(this.#lost);
      this.#xid = this.#xid === MAX_XID ? 1 : this.#xid + 1;
      this.#pending.set(this.#xid, { take: (reply) => resolve(take(reply)), fail: reject });
      this.#send(this.#xid, op, write);
    });
  }

  /** Idempotent. The server answers what was sent before, then says goodbye; a silent one is not waited for. */
  async close(): Promise<void> {
    const tooLong = setTimeout(() => this.destroy(), MAX_GOODBYE_MS);
    const nothing = (): void => undefined;
    await this.call(OP.closeSession, nothing, nothing).catch(nothing);
    clearTimeout(tooLong);
    this.destroy();
  }

  /** At once, whatever is under way. */
  destroy(): void {
    this.#lose("it was closed here");
  }

  #greet({ timeoutMs, credentials }: SessionOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.listen({ event: ignore, answered: ignore, idle: ignore, lost: reject });
      this.#greeted = (reader) => {
        const grantedMs = readConnected(reader);
        if (grantedMs <= 0) return this.#lose("the server refused the session");
        if (credentials !== undefined) {
          this.#send(XID.auth, OP.auth, (writer) => writeDigestAuth(writer, credentials));
        }
        this.#keepAlive(Math.min(grantedMs, timeoutMs));
        resolve();
      };
      this.#socket
        .on("data", (chunk) => this.#read(chunk))
        .on("error", (cause) => this.#lose(cause.message, cause))
        .once("close", () => this.#lose("the server closed it"));
      const writer = new JuteWriter();
      writeConnect(writer, timeoutMs);
      this.#socket.write(writer.frame());
    });
  }

  #send(xid: number, op: OpCode, write: (writer: JuteWriter) => void): void {
    const writer = new JuteWriter().int(xid).int(op);
    write(writer);
    this.#socket.write(writer.frame());
  }

  #read(chunk: Buffer): void {
    if (this.#lost !== null) return;
    this.#heardAtMs = performance.now();
    try {
      this.#frames.push(chunk, (frame) => this.#take(new JuteReader(frame)));
      for (const listener of this.#listeners) listener.idle();
    } catch (cause) {
      this.#lose(`what came cannot be understood (${String(cause)})`, cause);
    }
  }

  #take(reader: JuteReader): void {
    if (this.#lost !== null) return;
    if (this.#greeted !== null) {
      const greeted = this.#greeted;
      this.#greeted = null;
      return greeted(reader);
    }
    const xid = reader.int();
    const zxid = reader.zxid();
    const code = reader.int();
    if (xid === XID.event) return this.#takeEvent(reader);
    if (xid === XID.auth) {
      if (code !== CODE.ok) this.#lose(`the server refused the user (code ${code})`);
      return;
    }
    if (xid !== XID.ping) this.#takeReply(xid, { zxid, code, body: reader });
    for (const listener of this.#listeners) listener.answered(zxid);
  }

  #takeEvent(reader: JuteReader): void {
    const kind = reader.int();
    const path = reader.skip(4).text();
    for (const listener of this.#listeners) listener.event(kind, path);
  }

  #takeReply(xid: number, reply: Reply): void {
    const pending = this.#pending.get(xid);
    if (pending === undefined) throw new RangeError(`nothing was asked under number ${xid}`);
    try {
      pending.take(reply);
    } catch (error) {
      if (!(error instanceof TenureError)) throw error;
      pending.fail(error);
    }
    // Only now: if the answer cannot be read, the request is lost with all others.
    this.#pending.delete(xid);
  }

  /** The server forgets a session that it has not heard for the timeout; a silent server is given up a third earlier. */
  #keepAlive(timeoutMs: number): void {
    const silentMs = Math.ceil((timeoutMs * 2) / 3);
    const giveUp = (): void => {
      if (performance.now() - this.#heardAtMs > silentMs) this.#lose(`it was silent for ${silentMs} ms`);
    };
    this.#pinging = setInterval(
      () => {
        // A look at the network first: it may have been this process that was not there.
        if (performance.now() - this.#heardAtMs > silentMs) setImmediate(giveUp);
        this.#send(XID.ping, OP.ping, ignore);
      },
      Math.min(MAX_PING_MS, timeoutMs / 3),
    );
  }

  #lose(why: string, cause?: unknown): void {
    if (this.#lost !== null) return;
    const { host, port } = this.#server;
    const message = `the connection to ZooKeeper at ${host}:${port} is lost: ${why}`;
    this.#lost = new BackendUnavailableError(message, { cause });
    clearInterval(this.#pinging);
    this.#socket.destroy();
    for (const pending of this.#pending.values()) pending.fail(this.#lost);
    this.#pending.clear();
    for (const listener of this.#listeners) listener.lost(this.#lost);
  }
}

function ignore(): void {}
