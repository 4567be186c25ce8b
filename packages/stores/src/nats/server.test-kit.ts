/** A separate client that does not use the store: to inspect the server, and for operator actions. */
import { scheduler } from "node:timers/promises";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { waitLimitMs } from "@tenure/engines";
import type { StreamConfig } from "./stream-settings.js";

const POLL_MS = 20;
const ASK_MS = 1000;

export interface StreamInfo {
  readonly config: StreamConfig & Readonly<Record<string, unknown>>;
  readonly state: { readonly messages: number; readonly last_seq: number };
  readonly cluster?: {
    readonly leader?: string;
    readonly replicas?: readonly { readonly name: string; readonly current: boolean }[];
  };
}

/** Repeats `check` until it is true. An error counts as not yet true. */
export async function until<T>(
  what: string,
  limitMs: number,
  condition: () => Promise<T | false | null | undefined> | T | false | null | undefined,
): Promise<T> {
  const giveUpAtMs = performance.now() + waitLimitMs(limitMs);
  let failure: unknown = null;
  while (performance.now() < giveUpAtMs) {
    try {
      const found = await condition();
      if (found !== false && found !== null && found !== undefined) return found;
    } catch (error) {
      failure = error;
    }
    await scheduler.wait(POLL_MS);
  }
  throw new Error(`not within ${limitMs} ms: ${what}`, { cause: failure });
}

export class ServerClient implements AsyncDisposable {
  readonly connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.connection = connection;
  }

  static async open(ports: readonly number[]): Promise<ServerClient> {
    const servers = ports.map((port) => `127.0.0.1:${port}`);
    return new ServerClient(await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: POLL_MS }));
  }

  get version(): string {
    return this.connection.info?.version ?? "";
  }

  /** A request to `$JS.API`; throws the server's error answer. */
  async api<T>(subject: string, body: unknown = ""): Promise<T> {
    const payload = body === "" ? "" : JSON.stringify(body);
    const reply = await this.connection.request(`$JS.API.${subject}`, payload, { timeout: ASK_MS });
    const answer = reply.json<T & { readonly error?: { readonly err_code: number } }>();
    if (answer.error !== undefined) throw new Error(`error ${answer.error.err_code} of ${subject}`);
    return answer;
  }

  info(bucket: string): Promise<StreamInfo> {
    return this.api<StreamInfo>(`STREAM.INFO.KV_${bucket}`);
  }

  /** The name of the server that leads the bucket's stream. */
  leader(bucket: string): Promise<string> {
    return until(`${bucket} has a leader`, 30_000, async () => (await this.info(bucket)).cluster?.leader);
  }

  async remove(bucket: string): Promise<void> {
    await until(`${bucket} is removed`, 30_000, async () => {
      await this.api(`STREAM.DELETE.KV_${bucket}`);
      return true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close();
  }
}
