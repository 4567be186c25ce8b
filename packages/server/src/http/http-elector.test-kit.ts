/** Electors over HTTP, with faults between them and their servers. Everything opened here is closed by `cleanUp`. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { HttpElector, type HttpElectorOptions } from "@tenure/client";
import type { CampaignRequest, WatchEvent } from "@tenure/core";
import { FaultProxy } from "@tenure/engines";
import { closing, later } from "../auth/auth.test-kit.js";

export async function elector(
  endpoints: readonly string[],
  options: Partial<HttpElectorOptions> = {},
): Promise<HttpElector> {
  // Always in their order.
  return closing(await HttpElector.open({ endpoints, random: () => 0, ...options }));
}

/** A relay in front of a server, which can lose answers and break connections. */
export async function proxied(url: string): Promise<{ url: string; proxy: FaultProxy }> {
  const { hostname, port } = new URL(url);
  const proxy = closing(await FaultProxy.open({ host: hostname, port: Number(port) }));
  return { url: `http://127.0.0.1:${proxy.port}`, proxy };
}

/** Every request that servers of this process get from now on, as `METHOD path`. */
export function recordRequests(): readonly string[] {
  const seen: string[] = [];
  const record = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    seen.push(`${request.method} ${request.url}`);
  };
  subscribe("http.server.request.start", record);
  later(() => unsubscribe("http.server.request.start", record));
  return seen;
}

export function candidate(
  groupId: string,
  nodeId: string,
  rest: Partial<CampaignRequest> = {},
): CampaignRequest {
  return { groupId, nodeId, instanceId: `${nodeId}-1`, ttlMs: 20_000, ...rest };
}

/** Reads one watch; ended by `cleanUp`. */
export class Reader {
  readonly #iterator: AsyncIterator<WatchEvent>;

  constructor(events: AsyncIterable<WatchEvent>) {
    this.#iterator = events[Symbol.asyncIterator]();
    later(() => this.#iterator.return?.());
  }

  async next(): Promise<WatchEvent> {
    const result = await this.#iterator.next();
    if (result.done === true) throw new Error("the watch has ended");
    return result.value;
  }

  async cursors(count: number): Promise<readonly number[]> {
    const cursors: number[] = [];
    while (cursors.length < count) cursors.push((await this.next()).cursor);
    return cursors;
  }

  async stop(): Promise<void> {
    await this.#iterator.return?.();
  }
}
