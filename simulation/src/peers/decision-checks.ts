/**
 * What must hold for decisions and the registry: nothing is decided both ways, and no decision is forgotten that is not
 * applied.
 */
import type { PeerChecks } from "./peer-checks.js";
import { type SimPeer, TTL_MS } from "./sim-peer.js";

/** Longer than a registration takes to be made or taken back. */
const SETTLED_MS = 3 * TTL_MS;

interface Known {
  decision: string | null;
  /** Disks of the resource managers that every server knew when it was asked for. */
  readonly managers: readonly string[];
}

export class DecisionChecks {
  readonly #checks: PeerChecks;
  readonly #nodes: () => readonly SimPeer[];
  readonly #known = new Map<string, Known>();
  /** By disk. */
  readonly #applied = new Map<string, Set<string>>();
  /** By disk: since when every running server has had it in its registry, at each check. */
  #registeredMs: ReadonlyMap<string, number> = new Map();
  decided = 0;
  forgotten = 0;

  constructor(checks: PeerChecks, nodes: () => readonly SimPeer[]) {
    this.#checks = checks;
    this.#nodes = nodes;
  }

  /** Before a decision is asked for. */
  asked(txnId: string): void {
    const managers = this.#managers();
    if (!this.#known.has(txnId)) this.#known.set(txnId, { decision: null, managers });
  }

  final(txnId: string, decision: string, who: string): void {
    const known = this.#known.get(txnId) ?? { decision: null, managers: [] };
    this.#known.set(txnId, known);
    if (known.decision === null) this.decided++;
    if (known.decision !== null && known.decision !== decision) {
      this.#checks.fail("S7", `${txnId} is ${known.decision}, and ${decision} by ${who}`);
    }
    known.decision = decision;
  }

  applied(disk: string, txnId: string, decision: string): void {
    this.final(txnId, decision, disk);
    const applied = this.#applied.get(disk) ?? new Set();
    this.#applied.set(disk, applied.add(txnId));
  }

  /** By this server, of all that it knew. */
  forgets(by: SimPeer, txnId: string): void {
    this.forgotten++;
    for (const disk of this.#known.get(txnId)?.managers ?? []) {
      const node = this.#nodes().find((each) => each.disk.id === disk && !each.isGone);
      if (node === undefined || this.#applied.get(disk)?.has(txnId) === true) continue;
      const services = by.life?.services;
      if (services?.registry.endpoints().includes(node.endpoint) !== true) continue;
      this.#checks.fail("S8", `${by.name} forgets ${txnId}, which ${node.name} has not applied`);
    }
  }

  /** Whether all who run know the same resource managers: themselves. */
  isConverged(): boolean {
    const shown = this.#nodes().flatMap(({ life }) =>
      life === null || life.services === null ? [] : [life.services.registry.endpoints().join(" ")],
    );
    return new Set(shown).size <= 1;
  }

  /** Those that every running server has had in its registry for a while: a registration that fails is taken back. */
  #managers(): readonly string[] {
    const nodes = this.#nodes();
    const nowMs = this.#checks.nowMs;
    const registries = nodes.flatMap(({ life }) => life?.services?.registry ?? []);
    const everywhere = nodes.filter(({ endpoint }) =>
      registries.every((registry) => registry.endpoints().includes(endpoint)),
    );
    this.#registeredMs = new Map(
      everywhere.map(({ disk }) => [disk.id, this.#registeredMs.get(disk.id) ?? nowMs]),
    );
    return [...this.#registeredMs].flatMap(([disk, sinceMs]) => (nowMs - sinceMs > SETTLED_MS ? [disk] : []));
  }
}
