/** What really stands at each server: every campaign that has arrived there, in order, until it is answered or gone. */
import type { CampaignRequest } from "@tenure/core";
import type { SimServer } from "./sim-server.js";

export interface Standing {
  readonly request: CampaignRequest;
  readonly server: SimServer;
  /** Rises with each arrival. */
  readonly order: number;
  readonly arrivedMs: number;
  /** When its server learned that the client is gone. */
  goneAtMs: number | null;
  /** When it was answered, by whatever. */
  leftAtMs: number | null;
}

/** A write may name somebody who has left while it was under way. */
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
    const standing: Standing = {
      request,
      server,
      order: ++this.#arrivals,
      arrivedMs,
      goneAtMs: null,
      leftAtMs: null,
    };
    const known = this.#byGroup.get(request.groupId) ?? [];
    const kept = known.filter(({ leftAtMs }) => leftAtMs === null || arrivedMs - leftAtMs < REMEMBERED_MS);
    this.#byGroup.set(request.groupId, [...kept, standing]);
    return standing;
  }

  /** All that stand, and those who have left not long ago. */
  of(groupId: string): readonly Standing[] {
    return this.#byGroup.get(groupId) ?? [];
  }

  /** Those who wait right now, and whose client is there as far as their server knows. */
  waiting(groupId: string): readonly Standing[] {
    return this.of(groupId).filter(
      ({ request, goneAtMs, leftAtMs }) =>
        request.waitMs !== undefined && goneAtMs === null && leftAtMs === null,
    );
  }
}
