/**
 * A server that takes part in a cluster: it keeps its records, announces itself, votes, campaigns, and serves the
 * routes of the peers. It is mounted into the service before that listens, started when it does, and stopped before it
 * closes.
 */
import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import type { Clock, Store } from "@tenure/core";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { spiffeNameOf } from "../certificates/spiffe.js";
import { Decider } from "../decisions/decider.js";
import { DecisionLog } from "../decisions/decision-log.js";
import { Retention } from "../decisions/retention.js";
import { type Resource, ResourceManager } from "../decisions/resource-manager.js";
import { OwnRecords } from "../disk/own-records.js";
import { Uptime } from "../disk/uptime.js";
import { StoredDisk } from "../disk/stored-disk.js";
import type { Announcer } from "../membership/announcer.js";
import { Membership } from "../membership/membership.js";
import { MEMBER_LEASES } from "../protocol/electorate.js";
import type { Configuration } from "../protocol/messages.js";
import { Peer } from "../protocol/peer.js";
import { Recovery } from "../recovery/recovery.js";
import { RmRegistry } from "../registry/rm-registry.js";
import type { SelfRegistration } from "../registry/self-registration.js";
import { Callers, type WireIdentity } from "./callers.js";
import { clusterRoutes } from "./cluster-routes.js";
import { HttpDecisionCalls } from "./decision-calls.js";
import { decisionRoutes } from "./decision-routes.js";
import { HttpTransport } from "./http-transport.js";
import { leaseRoutes } from "./lease-routes.js";
import { joinCluster, nodeAnnouncer } from "./node-announcer.js";
import { NodeLeaving } from "./node-leaving.js";
import { nodeRegistry } from "./node-registry.js";
import { CALL_LEASES, type CallTls, PeerCalls } from "./peer-calls.js";
import { type NodeLog, PeerLog } from "./peer-log.js";
import { PeerMetrics } from "./peer-metrics.js";
import type { NodeOptions } from "./peer-node-options.js";
import { probeConnection, recoveryRoutes } from "./recovery-routes.js";
import { rmRoutes } from "./rm-routes.js";
import { Offices } from "./offices.js";
import { tellWireErrors } from "./route.js";
import { SilentMembers } from "./silent-members.js";
import { statusRoutes } from "./status-routes.js";
import { WireError } from "./wire-error.js";

export interface PeerNodeParts {
  /** The server's own store. The node does not close it. */
  readonly store: Store;
  readonly clock: Clock;
  /** Returns a number from 0 to 1 (exclusive), for random waits; no decision depends on it. */
  readonly random: () => number;
  /** What decisions are about, if this server's program is a resource. */
  readonly resource?: Resource | undefined;
}

/** What the service provides; its `ExtensionHost`. */
export interface NodeHost {
  readonly registry: Registry;
  readonly log: NodeLog;
  identify(socket: Socket): WireIdentity;
  readonly tls: { current(): CallTls; onChange(listener: () => void): () => void } | null;
}

/** Everything that exists once the node is mounted. */
interface Mounted {
  readonly calls: PeerCalls;
  readonly announcer: Announcer;
  readonly registration: SelfRegistration;
  readonly leaving: NodeLeaving;
  readonly silent: SilentMembers;
  readonly decider: Decider;
  readonly log: PeerLog;
  readonly metrics: PeerMetrics;
  readonly stopFollowing: () => void;
}

export class PeerNode {
  readonly options: NodeOptions;
  readonly membership: Membership;
  readonly #parts: PeerNodeParts;
  readonly #disk: StoredDisk;
  readonly #registry: RmRegistry;
  readonly #resourceManager: ResourceManager;
  readonly #decisions: DecisionLog;
  readonly #retention: Retention;
  #mounted: Mounted | null = null;
  #peer: Peer | null = null;
  #stopped: Promise<void> | null = null;

  private constructor(options: NodeOptions, parts: PeerNodeParts, records: OwnRecords, disk: StoredDisk) {
    this.options = options;
    this.#parts = parts;
    this.#disk = disk;
    const ttlMs = MEMBER_LEASES * options.ttlMs;
    this.membership = new Membership({ self: options.identity, ttlMs, clock: parts.clock, records });
    this.#registry = new RmRegistry({ identity: options.identity, records, clock: parts.clock });
    this.#resourceManager = new ResourceManager(records, parts.resource ?? null);
    const uptime = new Uptime(records, parts.clock);
    const manager = this.#resourceManager;
    this.#decisions = new DecisionLog({ records, uptime, manager });
    this.#retention = new Retention({ clock: parts.clock, uptime, log: this.#decisions });
  }

  /** Reads its stored records; does nothing else yet. */
  static async open(options: NodeOptions, parts: PeerNodeParts): Promise<PeerNode> {
    const records = await OwnRecords.open(parts.store);
    return new PeerNode(options, parts, records, await StoredDisk.open(records));
  }

  /** Throws `tc_unavailable` before the node has started. */
  get peer(): Peer {
    if (this.#peer === null) throw new WireError("tc_unavailable", "this server is starting; retry later");
    return this.#peer;
  }

  mount(app: FastifyInstance, host: NodeHost): void {
    const { identity, endpoint, trustDomain, ttlMs } = this.options;
    const { clock } = this.#parts;
    const { membership } = this;
    const tls = host.tls;
    const calls = new PeerCalls({ clock, lingerMs: ttlMs, trustDomain, tls: tls?.current() ?? null });
    const callers = new Callers((socket) => host.identify(socket));
    const log = new PeerLog(host.log);
    const stopFollowing =
      tls?.onChange(() => {
        calls.use(tls.current());
        this.#checkOwner(tls.current(), log);
      }) ?? (() => {});
    const metrics = this.#metrics(host.registry);
    const electorate = (): Configuration | null => this.#electorate();
    const announcer = nodeAnnouncer({
      options: this.options,
      disk: this.#disk.id,
      clock,
      calls,
      membership,
      electorate,
      leader: () => this.#peer?.observedLeader()?.leaderEndpoint ?? null,
      log,
      metrics,
    });
    const registry = this.#registry;
    const { replicator, registration, unregister } = nodeRegistry({
      options: this.options,
      disk: this.#disk.id,
      clock,
      calls,
      membership,
      registry,
      log,
    });
    const decider = this.#decider(calls, log, metrics);
    const leaving = new NodeLeaving({
      endpoint,
      ttlMs,
      clock,
      peer: () => this.peer,
      announcer,
      decisions: this.#decisions,
      unregister,
      log,
    });
    const silent = new SilentMembers(membership, host.log, clock, ttlMs);
    this.#mounted = {
      calls,
      announcer,
      registration,
      leaving,
      silent,
      decider,
      log,
      metrics,
      stopFollowing,
    };
    tellWireErrors(app);
    const peer = (): Peer => this.peer;
    const offices = new Offices({
      identity,
      callers,
      membership,
      electorate,
      vote: () => this.#disk.read().vote,
      observed: () => this.#peer?.observedLeader() ?? null,
    });
    leaseRoutes(app, { peer, callers, offices, clock });
    clusterRoutes(app, {
      identity,
      ttlMs,
      callers,
      offices,
      membership,
      announcer,
      log: host.log,
      onLeft: () => leaving.letGo(),
      onReturned: () => leaving.returned(),
    });
    recoveryRoutes(app, {
      identity,
      callers,
      log: host.log,
      recovery: () =>
        new Recovery({
          self: { identity, endpoint, disk: this.#disk.id },
          ttlMs,
          clock,
          voter: this.peer.answers,
          transport: new HttpTransport(calls),
          membership,
          log: this.#decisions,
          calls: this.#decisionCalls(calls),
          probe: probeConnection,
        }),
    });
    statusRoutes(app, {
      callers,
      peer,
      tls: () => tls?.current() ?? null,
      undelivered: () => this.#decisions.open().length,
    });
    rmRoutes(app, {
      callers,
      offices,
      registry,
      replicator,
      onReplicationFailed: () => metrics.replicationFailures.inc(),
    });
    decisionRoutes(app, {
      disk: this.#disk.id,
      endpoint,
      callers,
      offices,
      peer,
      decider,
      log: this.#decisions,
      resourceManager: this.#resourceManager,
      forward: (to, call) => calls.sendWithin(CALL_LEASES * ttlMs, to, call),
    });
  }

  /**
   * Joins: rejects if no join target could be reached, unless this server is one itself. Only then does it begin to
   * vote and campaign.
   */
  async start(): Promise<void> {
    const { announcer, registration, silent, decider, calls, log, metrics } = this.#mount();
    const { options } = this;
    const { identity, endpoint, join, ttlMs } = options;
    const { clock, random } = this.#parts;
    await joinCluster(announcer, { options, clock, electorate: () => this.#electorate() });
    const transport = new HttpTransport(calls);
    const { membership } = this;
    this.#peer = Peer.start({
      identity,
      endpoint,
      join,
      ttlMs,
      clock,
      random,
      disk: this.#disk,
      transport,
      membership,
      holdStep: (config) => decider.holdStep(config),
    });
    this.#peer.on((event) => {
      log.event(event);
      if (event.kind === "elected") {
        metrics.elected.inc();
        decider.lead(event.term, event.signal);
      }
      if (event.kind === "lost") metrics.lost.inc({ cause: event.cause });
    });
    announcer.start();
    registration.start();
    silent.start();
    this.#retention.start();
  }

  /**
   * Sends a goodbye, as far as the others answer, and waits to be released. The wait is limited; after that it looks
   * like a crash to the others.
   */
  async leave(): Promise<void> {
    if (this.#peer !== null) await this.#mount().leaving.stop();
  }

  /** Idempotent. Ends the term that it leads. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  #mount(): Mounted {
    if (this.#mounted === null) throw new Error("the node is not mounted");
    return this.#mounted;
  }

  async #stop(): Promise<void> {
    const mounted = this.#mounted;
    await mounted?.announcer.stop();
    await mounted?.registration.stop();
    mounted?.silent.stop();
    await this.#peer?.stop();
    await mounted?.decider.stopped();
    await this.#retention.stop();
    mounted?.stopFollowing();
    mounted?.calls.close();
  }

  #decider(calls: PeerCalls, log: PeerLog, metrics: PeerMetrics): Decider {
    const { identity, endpoint, ttlMs } = this.options;
    return new Decider({
      self: { identity, endpoint },
      clock: this.#parts.clock,
      limitMs: ttlMs,
      log: this.#decisions,
      calls: this.#decisionCalls(calls),
      electorate: () => this.#electorate(),
      members: () => this.membership.endpoints(),
      resourceManagers: () => this.#registry.endpoints(),
      onFinal: ({ txnId, decision, term }) => {
        metrics.decisions.inc({ decision });
        log.log.info({ txn_id: txnId, decision, term }, "transaction decided");
      },
      onFailure: (to, cause) => log.failed("applying a decision", to, cause),
    });
  }

  #decisionCalls(calls: PeerCalls): HttpDecisionCalls {
    const cluster = (): string | null => this.#electorate()?.cluster ?? null;
    return new HttpDecisionCalls(calls, this.options.endpoint, this.#resourceManager, cluster);
  }

  #electorate(): Configuration | null {
    return this.#peer?.answers.state().config ?? this.#disk.read().config;
  }

  #metrics(registry: Registry): PeerMetrics {
    return new PeerMetrics(registry, {
      isLeader: () => this.#peer?.isLeader() === true,
      term: () => this.#peer?.term ?? 0,
      members: () => this.membership.active().length,
      electors: () => Object.keys(this.#electorate()?.members ?? {}).length,
      resourceManagers: () => this.#registry.endpoints().length,
      undelivered: () => this.#decisions.open().length,
      heldBackMs: () => this.#peer?.status().heldBack?.forMs ?? 0,
      notStandingMs: () => {
        const status = this.#peer?.status();
        return status?.leader === null ? (status.notStanding?.forMs ?? 0) : 0;
      },
    });
  }

  /** A renewed certificate must name the same server, because all its votes and announcements are in that name. */
  #checkOwner({ cert }: CallTls, { log }: PeerLog): void {
    const owner = spiffeNameOf(new X509Certificate(cert))?.name;
    if (owner === this.options.identity) return;
    log.warn(
      { owner, identity: this.options.identity },
      "the renewed bundle names another server, and the others refuse this one: put the old back, or restart",
    );
  }
}
