/**
 * The verbs of the store on one session. Whatever an answer shows of a node is noted in the turn in which it arrives,
 * for later comparisons and for the feeds.
 */
import type { Entry, Revision } from "@tenure/core";
import { refusal } from "./failures.js";
import type { Observation } from "./known-state.js";
import { Mirror } from "./mirror.js";
import type { Tree } from "./tree.js";
import type { VersionBook } from "./version-book.js";
import {
  type Access,
  CODE,
  type Create,
  OP,
  readMultiRead,
  readMultiWritten,
  readNames,
  readNode,
  readSingleWritten,
  type SetData,
  writeAddWatch,
  writeCheck,
  writeMulti,
  writeMultiRead,
  type WriteResult,
  writeSingle,
} from "./wire/protocol.js";
import type { Reply, ZookeeperSession } from "./wire/session.js";

/** A write of one key: of an absent one, or over the version that is known to be the expected revision. */
export interface Write {
  readonly key: string;
  readonly value: string;
  readonly version: number | null;
}

/** An entry, and the version that it has. */
export interface Found {
  readonly entry: Entry;
  readonly version: number;
}

export type Written =
  | { readonly kind: "written"; readonly revision: Revision }
  | Extract<WriteResult, { readonly kind: "failed" }>;

/** Half of what a server accepts by default (`jute.maxbuffer`). */
export const REQUEST_BYTES: number = 512 * 1024;
const READ_LIMITS = { count: 1000, bytes: REQUEST_BYTES };
const HEADER_BYTES = 16;

export class Connection {
  readonly session: ZookeeperSession;
  readonly tree: Tree;
  readonly #access: Access;
  readonly #book: VersionBook;
  /** Keys whose write is under way: its answer will show them. */
  readonly #writing = new Set<string>();
  #mirror: Mirror | null = null;

  constructor(session: ZookeeperSession, tree: Tree, access: Access, book: VersionBook) {
    this.session = session;
    this.tree = tree;
    this.#access = access;
    this.#book = book;
  }

  /** Follows the store from the first time that it is asked for. */
  get mirror(): Mirror {
    this.#mirror ??= Mirror.start(this);
    return this.#mirror;
  }

  isWriting(key: string): boolean {
    return this.#writing.has(key);
  }

  /**
   * A transaction that changes nothing, and its revision. Everything acknowledged before the call, by any server to
   * anyone, is below it: the leader numbers transactions as it takes them, and each is acknowledged by a quorum after
   * all before it. (ZooKeeper's own `sync` is not enough. A leader that was deposed, and does not know it yet, answers
   * it alone.) What this session reads afterwards is at least as new: its server has applied the transaction. And its
   * feeds come that far without another write, because the answer tells them that no event up to it is missing; those of
   * other sessions learn it from their next ping.
   */
  barrier(): Promise<Revision> {
    return this.session.call(
      OP.multi,
      (writer) => writeCheck(writer, this.tree.root),
      (reply) => {
        const result = takeMulti(reply);
        if (result.kind === "failed") throw refusal(result.code, "a transaction");
        return reply.zxid;
      },
    );
  }

  /** All writes in one transaction, or none. It is sent once; if its answer is lost, this rejects. */
  write(writes: readonly Write[]): Promise<Written> {
    const ops = writes.map((write) => this.#opOf(write));
    for (const { key } of writes) this.#writing.add(key);
    const only = ops.length === 1 ? (ops[0] as Create | SetData) : null;
    if (only === null) {
      return this.session.call(
        OP.multi,
        (writer) => writeMulti(writer, ops),
        (reply) => this.#takeWritten(writes, takeMulti(reply), reply.zxid),
      );
    }
    return this.session.call(
      only.kind === "create" ? OP.create2 : OP.setData,
      (writer) => writeSingle(writer, only),
      (reply) => this.#takeWritten(writes, takeSingle(only, reply), reply.zxid),
    );
  }

  /** The entries of these keys as the server has them: at least as new as all that the session has heard before. */
  async read(keys: readonly string[]): Promise<(Found | null)[]> {
    const nodes = keys.map((key) => ({ key, path: this.tree.path(key) }));
    const parts = inParts(nodes, READ_LIMITS, ({ path }) => HEADER_BYTES + path.length);
    const reads = parts.map((part) => {
      const paths = part.map(({ path }) => path);
      return this.session.call(
        OP.multiRead,
        (writer) => writeMultiRead(writer, OP.getData, paths),
        (reply) => this.#takeEntries(part, reply),
      );
    });
    return (await Promise.all(reads)).flat();
  }

  /** All keys that there are; `take` gets them in the turn in which they arrive. */
  list(take: (keys: readonly string[]) => void): Promise<void> {
    const { buckets } = this.tree;
    return this.session.call(
      OP.multiRead,
      (writer) => writeMultiRead(writer, OP.getChildren, buckets),
      ({ code, body }) => {
        if (code !== CODE.ok) throw refusal(code, "to list the keys");
        const paths: string[] = [];
        readMultiRead(body, (index, code) => {
          if (code !== CODE.ok) throw refusal(code, "to list the keys");
          for (const name of readNames(body)) paths.push(`${buckets[index]}/${name}`);
        });
        take(paths.map((path) => this.tree.key(path)).filter((key) => key !== null));
      },
    );
  }

  /** Every change below the root is an event from now on. */
  watch(): Promise<void> {
    return this.session.call(
      OP.addWatch,
      (writer) => writeAddWatch(writer, this.tree.root),
      ({ code }) => {
        if (code !== CODE.ok) throw refusal(code, "to watch the path");
      },
    );
  }

  #opOf({ key, value: data, version }: Write): Create | SetData {
    const path = this.tree.path(key);
    if (version === null) return { kind: "create", path, data, access: this.#access };
    return { kind: "set", path, data, version };
  }

  #takeWritten(writes: readonly Write[], result: WriteResult, revision: Revision): Written {
    for (const { key } of writes) this.#writing.delete(key);
    if (result.kind === "failed") return result;
    for (const { key, value, version } of writes) {
      this.#note(key, { value, revision, version: version === null ? 0 : (version + 1) | 0 });
    }
    return { kind: "written", revision };
  }

  #takeEntries(nodes: readonly { readonly key: string }[], { code, body }: Reply): (Found | null)[] {
    if (code !== CODE.ok) throw refusal(code, "to read");
    const found: (Found | null)[] = [];
    readMultiRead(body, (index, code) => {
      const { key } = nodes[index] as { readonly key: string };
      if (code === CODE.noNode) {
        found.push(null);
        return;
      }
      if (code !== CODE.ok) throw refusal(code, "to read");
      const { data: value, mzxid: revision, version } = readNode(body);
      this.#note(key, { value, revision, version });
      found.push({ entry: { key, value, revision }, version });
    });
    return found;
  }

  #note(key: string, seen: Observation): void {
    this.#book.learn(key, seen.revision, seen.version);
    this.#mirror?.observed(key, seen);
  }
}

function takeMulti({ code, body, zxid }: Reply): WriteResult {
  return code === CODE.ok ? readMultiWritten(body, zxid) : { kind: "failed", index: null, code };
}

function takeSingle({ kind }: Create | SetData, { code, body, zxid }: Reply): WriteResult {
  if (code !== CODE.ok) return { kind: "failed", index: 0, code };
  readSingleWritten(body, kind, zxid);
  return { kind: "written" };
}

/** Cuts a list into parts that each keep to both limits; an item that alone is too large is a part of its own. */
export function inParts<T>(
  items: readonly T[],
  limits: { readonly count: number; readonly bytes: number },
  bytesOf: (item: T) => number,
): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = bytesOf(item);
    if (part.length > 0 && (part.length >= limits.count || bytes + more > limits.bytes)) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += more;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}
