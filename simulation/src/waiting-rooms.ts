/** What really waits at each server: every campaign that has arrived there, in order, until it is answered or gone. */
import type { CampaignRequest } from "@tenure/core";
import type { SimServer } from "./sim-server.js";

export interface Standing {
  readonly request: CampaignRequest;
  readonly server: SimServer;
  /** Rises with each arrival. */
  readonly order: number;
  /** The order of the first of its candidate's campaigns there that it may have the place of; its own if there is none. */
  readonly place: number;
  readonly arrivedMs: number;
  /** When its server learned that the client is gone. */
  goneAtMs: number | null;
  /** When it was answered, by whatever. */
  leftAtMs: number | null;
}

/** A write may name a candidate that has left while it was under way. Longer than a server keeps the place of a candidate. */
const REMEMBERED_MS = 3000;

export class WaitingRooms {
  readonly #nowMs: () => number;
  readonly #byGroup = new Map<string, Standing[]>();
  #arrivals = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  enter(server: SimServer, request: CampaignRequest): Standing {
    const arrivedMs = this.#nowMs();
    const known = this.#byGroup.get(request.groupId) ?? [];
    const kept = known.filter(({ leftAtMs }) => leftAtMs === null || arrivedMs - leftAtMs < REMEMBERED_MS);
    const order = ++this.#arrivals;
    const before = kept.filter(
      (each) =>
        each.server === server &&
        each.request.nodeId === request.nodeId &&
        each.request.instanceId === request.instanceId,
    );
    const standing: Standing = {
      request,
      server,
      order,
      place: Math.min(order, ...before.map(({ place }) => place)),
      arrivedMs,
      goneAtMs: null,
      leftAtMs: null,
    };
    this.#byGroup.set(request.groupId, [...kept, standing]);
    return standing;
  }

  /** All campaigns that wait, and those that have left recently. */
  of(groupId: string): readonly Standing[] {
    return this.#byGroup.get(groupId) ?? [];
  }

  /** The campaigns that wait right now, and whose client is there as far as their server knows. */
  waiting(groupId: string): readonly Standing[] {
    return this.of(groupId).filter(
      ({ request, goneAtMs, leftAtMs }) =>
        request.waitMs !== undefined && goneAtMs === null && leftAtMs === null,
    );
  }
}
