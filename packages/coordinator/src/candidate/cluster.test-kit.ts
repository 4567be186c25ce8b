/** Nodes of one cluster in virtual time, over one memory store. */
import type { Logger } from "@tenure/client";
import { type Elector, MemoryStore, StoreElector } from "@tenure/core";
import { type ProcessClock, VirtualClock } from "@tenure/core/testing";
import { functionChild } from "../supervisor/function-child.js";
import { type CoordinatorMessage, listen } from "../telemetry/telemetry.js";
import { CoordinatorCandidate } from "./coordinator-candidate.js";
import type { CoordinatorOptions } from "./options.js";

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface Node {
  readonly candidate: CoordinatorCandidate;
  readonly clock: ProcessClock;
  readonly elector: StoreElector;
  /** The log of its one child: `start 1`, `stop 1`. */
  readonly log: string[];
}

export class Cluster {
  readonly clock: VirtualClock = new VirtualClock();
  readonly messages: CoordinatorMessage[] = [];
  readonly #store = new MemoryStore();
  readonly #nodes: Node[] = [];
  readonly #unlisten = listen((message) => this.messages.push(message));

  /** An elector that belongs to no node. */
  elector(): StoreElector {
    return StoreElector.open({ store: this.#store, clock: this.clock, keepMembers: true });
  }

  /** With one child, `work`, and a silent logger; started. */
  node(
    nodeId: string,
    options: Partial<CoordinatorOptions> = {},
    over?: (elector: Elector) => Elector,
  ): Node {
    const clock = this.clock.process();
    const elector = StoreElector.open({ store: this.#store, clock, keepMembers: true });
    const log: string[] = [];
    const work = functionChild("work", async ({ term, signal }) => {
      log.push(`start ${term}`);
      await new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve());
      });
      log.push(`stop ${term}`);
    });
    const candidate = new CoordinatorCandidate({
      elector: over?.(elector) ?? elector,
      nodeId,
      clock,
      children: [work],
      onStuck: () => {},
      logger: SILENT,
      ...options,
    });
    const node = { candidate, clock, elector, log };
    this.#nodes.push(node);
    void candidate.start();
    return node;
  }

  /** The nodes that coordinate at this moment. */
  coordinators(): readonly string[] {
    return this.#nodes
      .filter(({ clock, candidate }) => !clock.isKilled && candidate.isCoordinator())
      .map(({ candidate }) => candidate.status()?.leaderId ?? "");
  }

  events(event: CoordinatorMessage["event"]): readonly CoordinatorMessage["metadata"][] {
    return this.messages.filter((message) => message.event === event).map(({ metadata }) => metadata);
  }

  async close(): Promise<void> {
    this.#unlisten();
    const alive = this.#nodes.filter(({ clock }) => !clock.isKilled);
    const stopped = Promise.all(alive.map(({ candidate }) => candidate.stop()));
    await this.clock.advance(120_000);
    await stopped;
    const closed = Promise.all(alive.map(({ elector }) => elector.close()));
    await this.clock.advance(60_000);
    await closed;
    this.clock.stop();
  }
}
