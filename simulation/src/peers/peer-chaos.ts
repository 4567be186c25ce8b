/** Which faults happen, when, and to which server: all from the seed. */
import type { Random, VirtualClock } from "@tenure/core/testing";
import type { Trace } from "../trace.js";
import type { DecisionChecks } from "./decision-checks.js";
import { canLose } from "./electorates.js";
import type { PeerChecks } from "./peer-checks.js";
import { noNetworkFaults, type PeerNetwork } from "./peer-network.js";
import type { PeerModule } from "./peer-module.js";
import { askAbsurdly, lieAbout } from "./peer-lies.js";
import type { PeerProfile } from "./peer-profile.js";
import { type SimPeer, TTL_MS } from "./sim-peer.js";

export interface PeerChaosOptions {
  readonly modules: PeerModule;
  readonly profile: PeerProfile;
  readonly time: VirtualClock;
  readonly random: Random;
  readonly network: PeerNetwork;
  readonly nodes: readonly SimPeer[];
  readonly checks: PeerChecks;
  readonly decisions: DecisionChecks;
  readonly trace: Trace | null;
}

/** How long clients retry; retention, counted while a server runs, is at least twice as long. */
const RETRY_MS = 2 * TTL_MS;

type Lie = Parameters<typeof lieAbout>[0];

export class PeerChaos {
  readonly #options: PeerChaosOptions;
  readonly #random: Random;
  #isOver = false;
  #transactions = 0;
  /** Transactions that clients ask for again. */
  #recent: { readonly txnId: string; readonly sinceMs: number }[] = [];
  /** Servers whose answers are lies just now. */
  readonly liars: Map<string, Lie> = new Map();

  constructor(options: PeerChaosOptions) {
    this.#options = options;
    this.#random = options.random;
  }

  start(): void {
    const { profile, network } = this.#options;
    network.faults = { ...profile.faults };
    network.lastArrivalMs = profile.chaosMs;
    const { everyMs } = profile;
    this.#nowAndThen(everyMs.crash, () => this.#crash());
    this.#nowAndThen(everyMs.wipe, () => this.#wipe());
    this.#nowAndThen(everyMs.blackout, () => this.#blackout());
    this.#nowAndThen(everyMs.cut, () => this.#cut());
    this.#nowAndThen(everyMs.pause, () => this.#pause());
    this.#nowAndThen(everyMs.leave, () => this.#leave());
    this.#nowAndThen(everyMs.move, () => this.#move());
    this.#nowAndThen(everyMs.dream, () => this.#dream());
    this.#nowAndThen(everyMs.oneWay, () => this.#oneWay());
    this.#nowAndThen(everyMs.certificate, () => this.#expire());
    this.#nowAndThen(everyMs.absurd, () => this.#lie());
    this.#nowAndThen(everyMs.decide, () => this.#decide());
    network.distort = (name, state) => {
      const lie = this.liars.get(name);
      return lie === undefined ? state : lieAbout(lie, state);
    };
  }

  /** From here on there are no faults, and every server that has not left is there. */
  heal(): void {
    const { network, nodes } = this.#options;
    this.#isOver = true;
    network.faults = noNetworkFaults();
    network.cuts.clear();
    network.oneWay.clear();
    this.liars.clear();
    for (const node of nodes) {
      node.life?.clock.resume();
      if (!node.isGone) node.start();
      if (node.life !== null) node.life.membership.dream = null;
    }
  }

  #nowAndThen(everyMs: number | undefined, act: () => void): void {
    if (everyMs === undefined || everyMs === 0) return;
    const again = (): void => {
      this.#options.time.after(this.#random.between(0.2, 1.8) * everyMs, () => {
        if (this.#isOver) return;
        act();
        again();
      });
    };
    again();
  }

  /** Mostly the leader: it is there that things break. */
  #pick(): SimPeer {
    const leader = this.#options.checks.leader();
    return leader !== null && this.#random.chance(0.5) ? leader : this.#random.pick(this.#options.nodes);
  }

  #later(maxMs: number, act: () => void): void {
    this.#options.time.after(this.#random.between(0.02, 1) * maxMs, () => {
      if (!this.#isOver) act();
    });
  }

  #crash(): void {
    const node = this.#pick();
    node.crash();
    // Often at once: what it has forgotten matters most then.
    this.#later(this.#random.chance(0.5) ? 0.2 * TTL_MS : 5 * TTL_MS, () => node.start());
  }

  #wipe(): void {
    const node = this.#pick();
    // A majority of lost disks is for the operator.
    if (!canLose(this.#options.modules, this.#options.nodes, node)) return;
    node.wipe(this.#options.nodes.filter((each) => each !== node).map((each) => each.endpoint));
    this.#later(TTL_MS, () => node.start());
  }

  #blackout(): void {
    const { nodes } = this.#options;
    const spared = this.#pick();
    const others = nodes.filter((node) => node !== spared);
    this.#cutFor(2 * TTL_MS, between([[spared.name], others.map((node) => node.name)]));
    for (const node of others) {
      node.crash();
      this.#later(0.1 * TTL_MS, () => node.start());
    }
  }

  #move(): void {
    const node = this.#pick();
    if (node.disk.contents.config === null) return;
    node.move();
    this.#later(2 * TTL_MS, () => node.start());
  }

  #leave(): void {
    const node = this.#pick();
    // Who does not announce any more can only be reached where the electorate knows it.
    if (node.disk.contents.config?.members[node.name]?.endpoint !== node.endpoint) return;
    const left = this.#random.chance(0.5) ? node.leave() : node.tryToLeave();
    void left.then(() => {
      if (!this.#isOver) this.#later(4 * TTL_MS, () => node.start());
      else if (!node.isGone) node.start();
    });
  }

  #pause(): void {
    const { life } = this.#pick();
    if (life === null) return;
    if (this.#random.chance(0.5)) life.clock.pause();
    else life.clock.suspend();
    this.#later(2 * TTL_MS, () => life.clock.resume());
  }

  #cut(): void {
    const names = this.#random.shuffle(this.#options.nodes.map((node) => node.name));
    this.#cutFor(4 * TTL_MS, this.#drawCuts(names));
  }

  #cutFor(maxMs: number, cuts: readonly string[]): void {
    const { network, trace } = this.#options;
    trace?.note("CUT", cuts.join(" "));
    for (const cut of cuts) network.cuts.add(cut);
    this.#later(maxMs, () => {
      for (const cut of cuts) network.cuts.delete(cut);
    });
  }

  #drawCuts(names: readonly string[]): readonly string[] {
    const kind = this.#random.next();
    if (kind < 0.3) return between(halves(names, Math.ceil(names.length / 2)));
    if (kind < 0.45) return between(halves(names, 2));
    const node = this.#pick().name;
    // Deaf, dumb, or both.
    if (kind < 0.6) return names.filter((name) => name !== node).map((name) => `${name}>${node}`);
    if (kind < 0.7) return names.filter((name) => name !== node).map((name) => `${node}>${name}`);
    const all = names.flatMap((a) => names.filter((b) => b !== a).map((b) => `${a}>${b}`));
    return all.filter(() => this.#random.chance(0.3));
  }

  /** Some servers cannot connect to some others, often for long. Answers flow over the connections of the others. */
  #oneWay(): void {
    const names = this.#options.nodes.map((node) => node.name);
    const node = this.#pick().name;
    const others = names.filter((name) => name !== node);
    const kind = this.#random.next();
    if (kind < 0.5)
      return this.#closeFor(
        8 * TTL_MS,
        others.map((name) => `${name}>${node}`),
      );
    if (kind < 0.7)
      return this.#closeFor(
        8 * TTL_MS,
        others.map((name) => `${node}>${name}`),
      );
    const all = names.flatMap((a) => names.filter((b) => b !== a).map((b) => `${a}>${b}`));
    this.#closeFor(
      8 * TTL_MS,
      all.filter(() => this.#random.chance(0.25)),
    );
  }

  /**
   * The certificates of some servers expire: all others refuse what they ask. Over connections that are open the others still
   * ask them; where none is open, none is opened.
   */
  #expire(): void {
    const names = this.#options.nodes.map((node) => node.name);
    const expired = names.filter(() => this.#random.chance(0.4));
    const closed = expired.flatMap((name) =>
      names.flatMap((other) => {
        if (other === name) return [];
        return this.#random.chance(0.8) ? [`${name}>${other}`] : [`${name}>${other}`, `${other}>${name}`];
      }),
    );
    this.#closeFor(6 * TTL_MS, closed);
  }

  #closeFor(maxMs: number, closed: readonly string[]): void {
    const { network, trace } = this.#options;
    trace?.note("CLOSE", closed.join(" "));
    for (const each of closed) network.oneWay.add(each);
    this.#later(maxMs, () => {
      for (const each of closed) network.oneWay.delete(each);
    });
  }

  /** One absurd request, or for a while absurd answers of one server. */
  #lie(): void {
    const { nodes, trace, checks } = this.#options;
    const liar = this.#random.pick(nodes).name;
    if (this.#random.chance(0.1) && this.liars.size === 0) {
      const lie = this.#random.pick(["term", "electorate", "lease"] as const);
      trace?.note("LIE", `${liar} answers with another ${lie}`);
      this.liars.set(liar, lie);
      this.#later(12 * TTL_MS, () => this.liars.delete(liar));
      return;
    }
    const { life } = this.#random.pick(nodes);
    if (life === null) return;
    const onTaken = (what: string): void => checks.fail("S6", `${life.name} takes ${what}`);
    life.clock.pass(() => askAbsurdly(this.#random, life, liar, TTL_MS, onTaken));
  }

  /** A client asks for a decision, often for one that it has asked for before, often for the opposite. */
  #decide(): void {
    const { checks, decisions } = this.#options;
    const node = checks.leader();
    const led = node?.life?.peer.leading() ?? null;
    const services = node?.life?.services ?? null;
    if (node === null || led === null || services === null) return;
    const nowMs = this.#options.time.monotonicMs();
    // An older transaction may have been forgotten, and would be decided again: clients must not ask for it again.
    this.#recent = this.#recent.filter(({ sinceMs }) => nowMs - sinceMs < RETRY_MS);
    if (this.#recent.length === 0 || this.#random.chance(0.5)) {
      this.#recent.push({ txnId: `t${++this.#transactions}`, sinceMs: nowMs });
    }
    const { txnId } = this.#random.pick(this.#recent);
    const wanted = this.#random.chance(0.5) ? "commit" : "abort";
    decisions.asked(txnId);
    void services.decider.settle(txnId, wanted, led.term).then(
      (settled) => {
        if (settled.kind === "final") decisions.final(txnId, settled.decision, node.name);
      },
      () => {},
    );
  }

  #dream(): void {
    const { nodes } = this.#options;
    const { life, name } = this.#pick();
    if (life === null) return;
    if (this.#random.chance(0.15)) {
      life.membership.dream = null;
      return;
    }
    const active = nodes.filter((node) => node.name === name || this.#random.chance(0.6));
    const left = nodes.filter((node) => !active.includes(node) && this.#random.chance(0.7));
    life.membership.dream = {
      active: active.map((node) => node.member()),
      left: left.map((node) => node.name),
    };
  }
}

/** Splits the names into parts of `size`. */
function halves(names: readonly string[], size: number): readonly (readonly string[])[] {
  const parts = [];
  for (let i = 0; i < names.length; i += size) parts.push(names.slice(i, i + size));
  return parts;
}

/** Both ways between every two parts. */
function between(parts: readonly (readonly string[])[]): readonly string[] {
  return parts.flatMap((part) =>
    part.flatMap((a) =>
      parts.filter((other) => other !== part).flatMap((other) => other.map((b) => `${a}>${b}`)),
    ),
  );
}
