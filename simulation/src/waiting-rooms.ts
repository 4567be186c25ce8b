/** What really waits at each server: every campaign that has arrived there, in order, until it is answered or gone. */
import type { CampaignRequest } from "@tenure/core";
import type { ServerProcess, SimServer } from "./sim-server.js";

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
  /** The same on the clock of the server's process, which stands still while its machine is suspended. */
  leftOnClock: { readonly process: ServerProcess; readonly atMs: number } | null;
}

/**
 * A write may name a candidate that left while the write was under way. Longer than a server keeps the place of a candidate,
 * which it counts on its own clock.
 */
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
    const kept = known.filter((each) => isRemembered(each, arrivedMs));
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
      leftOnClock: null,
    };
    this.#byGroup.set(request.groupId, [...kept, standing]);
    return standing;
  }

  leave(standing: Standing): void {
    standing.leftAtMs = this.#nowMs();
    const { process } = standing.server;
    standing.leftOnClock = process === null ? null : { process, atMs: clockOf(process) };
  }

  /** All that stand, and those who have left not long ago. */
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

function isRemembered({ leftAtMs, leftOnClock, server }: Standing, nowMs: number): boolean {
  if (leftAtMs === null || nowMs - leftAtMs < REMEMBERED_MS) return true;
  const { process } = server;
  if (process === null || leftOnClock?.process !== process) return false;
  return clockOf(process) - leftOnClock.atMs < REMEMBERED_MS;
}

function clockOf({ clock }: ServerProcess): number {
  return clock.look(() => clock.monotonicMs());
}
