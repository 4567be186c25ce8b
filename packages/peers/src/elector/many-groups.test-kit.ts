/**
 * One elector for the suite that every elector must pass: each group is its own cluster of the peers a, b and c, and
 * each node id is one of them. It runs in real time, as that suite does.
 */
import {
  type CallOptions,
  type CampaignRequest,
  type CampaignResult,
  type Elector,
  type LeaderOptions,
  type Leadership,
  type RenewManyResult,
  type RenewRequest,
  type RenewResult,
  type ResignRequest,
  type ResignResult,
  systemClock,
  type WatchEvent,
  type WatchOptions,
} from "@tenure/core";
import { MemoryDisk, TestMembership } from "../protocol/cluster.test-kit.js";
import type { PeerTransport } from "../protocol/messages.js";
import { Peer } from "../protocol/peer.js";
import { PeerElector } from "./peer-elector.js";

const NAMES = ["a", "b", "c"];
const TTL_MS = 20_000;

/** Answers for nodes that are not peers, by refusing them. */
const ANYBODY = "a";

export class ManyGroups implements Elector {
  readonly #clusters = new Map<string, ReadonlyMap<string, PeerElector>>();
  readonly #peers: Peer[] = [];
  #isClosed = false;

  async campaign(request: CampaignRequest, options?: CallOptions): Promise<CampaignResult> {
    return this.#elector(request?.groupId, request?.nodeId).campaign(request, options);
  }

  async renew(request: RenewRequest, options?: CallOptions): Promise<RenewResult> {
    return this.#elector(request.groupId, request.nodeId).renew(request, options);
  }

  async renewMany(
    requests: readonly RenewRequest[],
    options?: CallOptions,
  ): Promise<readonly RenewManyResult[]> {
    const { groupId, nodeId } = requests[0] ?? {};
    return this.#elector(groupId, nodeId).renewMany(requests, options);
  }

  async resign(request: ResignRequest, options?: CallOptions): Promise<ResignResult> {
    return this.#elector(request.groupId, request.nodeId).resign(request, options);
  }

  async leader(groupId: string, options?: LeaderOptions): Promise<Leadership> {
    return this.#elector(groupId).leader(groupId, options);
  }

  watch(groupId: string, options?: WatchOptions): AsyncIterable<WatchEvent> {
    return this.#elector(groupId).watch(groupId, options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const electors = [...this.#clusters.values()].flatMap((cluster) => [...cluster.values()]);
    await Promise.all(electors.map((elector) => elector.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async stop(): Promise<void> {
    await this.close();
    await Promise.all(this.#peers.map((peer) => peer.stop()));
  }

  #elector(groupId: unknown, nodeId: unknown = ANYBODY): PeerElector {
    const key = typeof groupId === "string" && /^[\w/.:-]{1,200}$/.test(groupId) ? groupId : "tc";
    const cluster = this.#clusters.get(key) ?? this.#found(key);
    this.#clusters.set(key, cluster);
    const elector = cluster.get(String(nodeId)) ?? cluster.get(ANYBODY);
    if (this.#isClosed) void elector?.close();
    return elector as PeerElector;
  }

  #found(groupId: string): ReadonlyMap<string, PeerElector> {
    const peers = new Map<string, Peer>();
    const answersAt = async (endpoint: string) => {
      await new Promise<void>((resolve) => systemClock.soon(resolve));
      const peer = peers.get(endpoint);
      if (peer === undefined) throw new Error("connection refused");
      return peer.answers;
    };
    const transport: PeerTransport = {
      acquire: async (to, request) => (await answersAt(to)).acquire(request),
      renew: async (to, request) => (await answersAt(to)).renew(request),
      release: async (to, request) => (await answersAt(to)).release(request),
      state: async (to) => (await answersAt(to)).state(),
    };
    // Already founded: a founder listens for more than a ttl before it founds.
    const members = Object.fromEntries(NAMES.map((name) => [name, { endpoint: name, disk: `disk-${name}` }]));
    const config = { cluster: "disk-a", epoch: { term: 0, n: 0 }, members };
    const membership = new TestMembership();
    membership.members = NAMES.map((name) => ({ identity: name, endpoint: name, disk: `disk-${name}` }));
    for (const name of NAMES) {
      const peer = Peer.start({
        identity: name,
        endpoint: name,
        join: NAMES,
        ttlMs: TTL_MS,
        stands: "asked",
        clock: systemClock,
        random: () => 0.5,
        disk: new MemoryDisk(`disk-${name}`, { config }),
        transport,
        membership,
      });
      peers.set(name, peer);
      this.#peers.push(peer);
    }
    return new Map([...peers].map(([name, peer]) => [name, new PeerElector({ peer, groupId })]));
  }
}
