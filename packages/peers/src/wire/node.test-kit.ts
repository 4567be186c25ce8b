/** One node without a network: its routes are called directly, as any caller, in virtual time. */
import { BackendUnavailableError, type CasOp, type CasOutcome, MemoryStore } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import Fastify, { type FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import type { Resource } from "../decisions/resource-manager.js";
import type { WireIdentity } from "./callers.js";
import { PeerNode } from "./peer-node.js";
import type { NodeOptions } from "./peer-node-options.js";

export const TTL_MS = 1000;

/** The name in a certificate: `server/n1`. */
export function named(path: string): WireIdentity {
  const [kind = "", name = ""] = path.split("/");
  return { kind: "named", id: { uri: `spiffe://tenure/${path}`, trustDomain: "tenure", kind, name } };
}

export const NOBODY: WireIdentity = { kind: "none" };
export const UNNAMED: WireIdentity = { kind: "unnamed", why: "its certificate has no URI" };

/** Its disk can be made to fail. */
class FailingStore extends MemoryStore {
  isDown = false;

  override async compareAndSet(batch: readonly CasOp[]): Promise<CasOutcome[]> {
    if (this.isDown) throw new BackendUnavailableError("the disk is full");
    return super.compareAndSet(batch);
  }
}

export interface Told {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly as?: WireIdentity;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class TestNode {
  readonly clock: VirtualClock;
  readonly store: FailingStore;
  readonly log: { readonly fields: object; readonly sentence: string }[] = [];
  readonly registry: Registry = new Registry();
  readonly app: FastifyInstance = Fastify();
  readonly node: PeerNode;
  #caller: WireIdentity = NOBODY;

  private constructor(node: PeerNode, clock: VirtualClock, store: FailingStore) {
    this.node = node;
    this.clock = clock;
    this.store = store;
  }

  static readonly options: NodeOptions = {
    identity: "n1",
    trustDomain: "tenure",
    endpoint: "http://127.0.0.1:9",
    join: ["http://127.0.0.1:9"],
    ttlMs: TTL_MS,
  };

  /** Mounted and not started. */
  static async open(options: Partial<NodeOptions> = {}, resource?: Resource): Promise<TestNode> {
    const [clock, store] = [new VirtualClock(), new FailingStore()];
    const parts = { clock, store, random: () => 0.5, resource };
    const node = await PeerNode.open({ ...TestNode.options, ...options }, parts);
    const test = new TestNode(node, clock, store);
    const note = (fields: object, sentence: string): void => void test.log.push({ fields, sentence });
    test.node.mount(test.app, {
      registry: test.registry,
      log: { info: note, warn: note },
      identify: () => test.#caller,
      tls: null,
    });
    return test;
  }

  /** Alone, and its own leader. */
  static async leading(resource?: Resource): Promise<TestNode> {
    const test = await TestNode.open({}, resource);
    await test.node.start();
    while (!test.node.peer.isLeader()) await test.clock.advance(10);
    return test;
  }

  async ask(method: "GET" | "POST", path: string, asked: Asked = {}): Promise<Told> {
    this.#caller = asked.as ?? named("tc/clerk");
    const { body, headers } = asked;
    const response = await this.app.inject({
      method,
      url: path,
      headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: response.statusCode, body: response.json() };
  }

  said(sentence: string): boolean {
    return this.log.some((each) => each.sentence.includes(sentence));
  }

  async stop(): Promise<void> {
    this.store.isDown = false;
    await this.node.stop();
    await this.app.close();
  }
}
