/**
 * What a node does besides electing, by the product's own parts over the simulated network: it announces itself, keeps a
 * registry of resource managers, is one, and decides transactions when it leads.
 */
import type { ProcessClock } from "@tenure/core/testing";
import { unlessAborted } from "@tenure/core/internal";
import type { Configuration, ObservedLeader, Vote } from "@tenure/peers/protocol";
import { FastClock } from "./fast-clock.js";
import type { PeerModule } from "./peer-module.js";
import type { PeerNetwork } from "./peer-network.js";

type Parts = PeerModule;
type Records = Awaited<ReturnType<Parts["OwnRecords"]["open"]>>;

export interface ServicesOptions {
  readonly modules: PeerModule;
  readonly name: string;
  readonly endpoint: string;
  readonly join: readonly string[];
  readonly disk: string;
  readonly ttlMs: number;
  readonly clock: ProcessClock;
  readonly network: PeerNetwork;
  readonly records: Records;
  /** Whether it takes part in decisions and registry too. */
  readonly decides: boolean;
  /** How fast the time passes by which decisions are kept. */
  readonly speed: number;
  readonly config: () => Configuration | null;
  readonly vote: () => Vote | null;
  readonly leader: () => ObservedLeader | null;
  readonly onApplied: (txnId: string, decision: string) => void;
  readonly onForgotten: (txnId: string) => void;
}

export class Services {
  readonly membership: InstanceType<Parts["Membership"]>;
  readonly announcer: InstanceType<Parts["Announcer"]>;
  readonly log: InstanceType<Parts["DecisionLog"]>;
  readonly manager: InstanceType<Parts["ResourceManager"]>;
  readonly decider: InstanceType<Parts["Decider"]>;
  readonly registry: InstanceType<Parts["RmRegistry"]>;
  readonly replicator: InstanceType<Parts["RmReplicator"]>;
  readonly #registration: InstanceType<Parts["SelfRegistration"]>;
  readonly #retention: InstanceType<Parts["Retention"]>;
  readonly #offices: InstanceType<Parts["Offices"]>;
  readonly #options: ServicesOptions;

  constructor(options: ServicesOptions) {
    this.#options = options;
    const { modules, name, clock, records, ttlMs, onApplied } = options;
    this.membership = new modules.Membership({
      self: name,
      ttlMs: modules.MEMBER_LEASES * ttlMs,
      clock,
      records,
    });
    this.announcer = this.#announcer();
    const fast = new FastClock(clock, options.speed);
    const uptime = new modules.Uptime(records, fast);
    this.manager = new modules.ResourceManager(records, {
      apply: async ({ txnId, decision }) => onApplied(txnId, decision),
    });
    this.log = new modules.DecisionLog({ records, uptime, manager: this.manager });
    this.#watchRetention();
    this.#retention = new modules.Retention({ clock: fast, uptime, log: this.log });
    this.registry = new modules.RmRegistry({ identity: name, records, clock });
    this.replicator = this.#replicator();
    this.#registration = this.#selfRegistration();
    this.#offices = new modules.Offices({
      identity: name,
      // A certificate is the caller's name here.
      callers: { server: String, self: String } as unknown as ConstructorParameters<
        Parts["Offices"]
      >[0]["callers"],
      membership: this.membership,
      electorate: options.config,
      vote: options.vote,
      observed: options.leader,
    });
    this.decider = this.#decider();
  }

  start(): void {
    void this.announcer.announce({ isStart: true }).catch(() => {});
    this.announcer.start();
    if (!this.#options.decides) return;
    this.#registration.start();
    this.#retention.start();
  }

  /** Identities that are kept on disk as members, also those that have expired or left. */
  knownMembers(): readonly string[] {
    return [...this.#options.records.under("members/")].map(([identity]) => identity);
  }

  /** Why a step must wait, as the node of the product says it. */
  holdStep(config: Configuration): string | null {
    if (!this.#options.decides) return null;
    return this.decider.mayStep(config) ? null : "decisions are not carried over";
  }

  /** What a coordinator asks of this server. Throws where the caller has no such office. */
  obey(caller: string, cluster: string | null, term: number): void {
    this.#offices.coordinator(caller as never, cluster ?? "", term);
  }

  /** The registry that another server asks for, if it may read or change that. */
  #registryFor(caller: string, kind: "register" | "unregister", endpoint: string): Services["registry"] {
    this.#offices.registrar(caller as never, { kind, endpoint });
    return this.registry;
  }

  #call<T>(
    to: string,
    verb: string,
    work: (services: Services) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { network, name, clock } = this.#options;
    return network.call({ name, clock }, to, verb, ({ services }) => work(services as Services), signal);
  }

  async #within<T>(to: string, verb: string, work: (services: Services) => Promise<T>): Promise<T> {
    const { clock, ttlMs } = this.#options;
    const limit = new AbortController();
    const cancel = clock.after(2 * ttlMs, () => limit.abort(new Error("no answer")));
    return unlessAborted(limit.signal, this.#call(to, verb, work, limit.signal)).finally(cancel);
  }

  #announcer(): Services["announcer"] {
    const { modules, name, endpoint, disk, join, ttlMs, clock, config, leader } = this.#options;
    const self = { identity: name, endpoint, disk };
    return new modules.Announcer({
      self,
      join,
      intervalMs: ttlMs,
      clock,
      membership: this.membership,
      electorate: config,
      leader: () => leader()?.leaderEndpoint ?? null,
      onFailure: () => {},
      calls: {
        announce: (to, signal) =>
          this.#call(
            to,
            "announce",
            async ({ membership }) => {
              await membership.announce(self);
              return membership.endpoints();
            },
            signal,
          ),
        reach: (to, signal) => this.#call(to, "reach", async () => {}, signal),
        leave: (to, signal) => this.#call(to, "leave", ({ membership }) => membership.leave(name), signal),
      },
    });
  }

  #others(): readonly string[] {
    return this.membership.endpoints().filter((each) => each !== this.#options.endpoint);
  }

  #replicator(): Services["replicator"] {
    const { modules, clock, ttlMs } = this.#options;
    return new modules.RmReplicator({
      registry: this.registry,
      clock,
      limitMs: ttlMs,
      peers: () => this.#others(),
      onChanged: () => {},
      calls: {
        reach: (to, signal) => this.#call(to, "reach", async () => {}, signal),
        replicate: (to, entry, signal) =>
          this.#call(
            to,
            "replicate",
            async (services) => {
              const kind = entry.isRegistered ? "register" : "unregister";
              const registry = services.#registryFor(this.#options.name, kind, entry.endpoint);
              await registry.merge([entry]);
              return registry.entry(entry.backendHash, entry.endpoint) ?? entry;
            },
            signal,
          ),
      },
    });
  }

  #selfRegistration(): InstanceType<Parts["SelfRegistration"]> {
    const { modules, clock, ttlMs, endpoint, disk, join } = this.#options;
    const own = { backendHash: `rm-${disk}`, endpoint };
    const apply = async (at: Services["replicator"], kind: "register" | "unregister", where = endpoint) => {
      const outcome = await at.apply({ kind, backendHash: own.backendHash, endpoint: where });
      if (outcome.kind === "failed") throw outcome.cause;
    };
    return new modules.SelfRegistration({
      clock,
      intervalMs: modules.MEMBER_LEASES * ttlMs,
      retryMs: ttlMs,
      targets: () => (this.membership.endpoints().length === 0 ? join : this.membership.endpoints()),
      register: async (to) => {
        if (to !== endpoint) {
          return this.#within(to, "register", async (services) => {
            services.#registryFor(this.#options.name, "register", endpoint);
            await apply(services.replicator, "register");
          });
        }
        await apply(this.replicator, "register");
        for (const former of this.registry.backend(own.backendHash).endpoints) {
          if (former !== endpoint) await apply(this.replicator, "unregister", former);
        }
      },
      catchUp: async () => {
        const has = new Set<string>();
        for (const to of this.#others()) {
          const entries = await this.#within(to, "list", async (services) =>
            services.#registryFor(this.#options.name, "register", endpoint).entries(),
          ).catch(() => []);
          await this.registry.merge(entries);
          const isOwn = entries.some(
            (each) => each.isRegistered && each.backendHash === own.backendHash && each.endpoint === endpoint,
          );
          if (isOwn) has.add(to);
        }
        return has;
      },
      isWanted: () => !this.membership.leaving,
      onFailure: () => {},
      onSuccess: () => {},
    });
  }

  #decider(): Services["decider"] {
    const { modules, name, endpoint, clock, ttlMs, config, network } = this.#options;
    const cluster = (): string | null => config()?.cluster ?? null;
    const ask = <T>(
      to: string,
      verb: string,
      term: number,
      signal: AbortSignal,
      work: (services: Services) => Promise<T>,
    ) =>
      network.call(
        { name, clock },
        to,
        verb,
        async ({ services, name: identity, disk }) => {
          const asked = services as Services;
          asked.obey(name, cluster(), term);
          return { from: { identity, disk }, value: await work(asked) };
        },
        signal,
      );
    return new modules.Decider({
      self: { identity: name, endpoint },
      clock,
      limitMs: ttlMs,
      log: this.log,
      electorate: config,
      members: () => this.membership.endpoints(),
      resourceManagers: () => this.registry.endpoints(),
      onFinal: () => {},
      onFailure: () => {},
      calls: {
        prepare: (to, txnId, term, signal) =>
          ask(to, "prepare", term, signal, ({ log }) => log.prepare(txnId, term)),
        remember: (to, decision, signal) =>
          ask(to, "remember", decision.term, signal, ({ log }) => log.remember(decision)),
        held: async (to, { term, which, after }, signal) => {
          const heard = await ask(to, "held", term, signal, ({ log }) => log.page(term, which, after));
          // As it comes over the wire.
          if (heard.value.kind === "promised") {
            for (const each of heard.value.decisions) modules.decodeHeld(modules.encodeHeld(each));
          }
          return heard;
        },
        tell: (to, decisions, term, signal) =>
          ask(to, "tell", term, signal, ({ log }) =>
            log.take(decisions.map((each) => modules.decodeHeld(modules.encodeHeld(each)))),
          ),
        apply: async (to, decision, signal) => {
          if (to === endpoint) return this.manager.apply(decision);
          const { value } = await ask(to, "apply", decision.term, signal, ({ manager }) =>
            manager.apply(decision),
          );
          return value;
        },
      },
    });
  }

  #watchRetention(): void {
    const { log } = this;
    const forget = log.forget.bind(log);
    log.forget = async () => {
      const before = log.all().map(({ txnId }) => txnId);
      const count = await forget();
      if (count > 0) {
        const kept = new Set(log.all().map(({ txnId }) => txnId));
        for (const txnId of before) if (!kept.has(txnId)) this.#options.onForgotten(txnId);
      }
      return count;
    };
  }
}
