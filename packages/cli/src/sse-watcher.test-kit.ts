/** A watcher on plain node:http that reconnects with its cursor whenever its connection ends. */
import { get, type IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";

export interface Received {
  readonly id: number;
  readonly type: "LEADER_CHANGED" | "LEADER_LOST" | "RESYNC";
  readonly groupId: string;
  readonly term: number;
  readonly leaderNodeId: string | null;
  readonly reason: string;
  /** Which of the watcher's connections delivered it. */
  readonly connection: number;
}

export interface WatcherOptions {
  readonly path: string;
  /** Resolves with the port when there is a server to connect to. */
  readonly port: () => Promise<number>;
  readonly cursor?: number;
}

const MAX_FAILURES = 50;

export class SseWatcher {
  readonly received: Received[] = [];
  /** The server's last `retry:` field. */
  retryMs: number | null = null;
  connections = 0;
  readonly #options: WatcherOptions;
  #cursor: number | undefined;
  #response: IncomingMessage | null = null;
  #stopped = false;
  #awaited: { readonly isIt: (event: Received) => boolean; readonly resolve: () => void } | null = null;
  #opened: () => void = () => {};

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#cursor = options.cursor;
  }

  /** Until `stop`. Rejects if the service refuses it. */
  async follow(): Promise<void> {
    let failures = 0;
    while (!this.#stopped) {
      const port = await this.#options.port();
      try {
        await this.#stream(port);
        failures = 0;
      } catch (error) {
        if (this.#stopped) return;
        if (!isLost(error) || ++failures > MAX_FAILURES) throw error;
      }
    }
  }

  /** Resolves when the next connection is open. */
  opened(): Promise<void> {
    return new Promise((resolve) => (this.#opened = resolve));
  }

  /** Resolves when it has received such an event. */
  until(isIt: (event: Received) => boolean): Promise<void> {
    if (this.received.some(isIt)) return Promise.resolve();
    return new Promise((resolve) => (this.#awaited = { isIt, resolve }));
  }

  stop(): void {
    this.#stopped = true;
    this.#response?.destroy();
  }

  /** One connection, to its end; rejects if it broke. */
  async stream(): Promise<void> {
    await this.#stream(await this.#options.port());
  }

  #stream(port: number): Promise<void> {
    const lastEventId = this.#cursor === undefined ? {} : { "last-event-id": String(this.#cursor) };
    const headers = { accept: "text/event-stream", ...lastEventId };
    const { path } = this.#options;
    return new Promise((resolve, reject) => {
      const request = get({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
        if (response.statusCode !== 200) {
          response.resume();
          return reject(new Error(`the watch was answered ${response.statusCode}`));
        }
        this.#response = response;
        const connection = ++this.connections;
        this.#opened();
        const parser = createParser({
          onEvent: ({ id, data }) => this.#take(Number(id), data, connection),
          onRetry: (ms) => {
            this.retryMs = ms;
          },
        });
        response.setEncoding("utf8").on("data", (chunk: string) => parser.feed(chunk));
        response.once("error", reject).once("close", resolve);
      });
      request.once("error", reject);
    });
  }

  #take(id: number, data: string, connection: number): void {
    const { type, group_id, term, leader_node_id, reason } = JSON.parse(data) as {
      type: Received["type"];
      group_id: string;
      term: number;
      leader_node_id: string | null;
      reason: string;
    };
    const leaderNodeId = leader_node_id;
    const event: Received = { id, type, groupId: group_id, term, leaderNodeId, reason, connection };
    this.received.push(event);
    this.#cursor = id;
    if (this.#awaited?.isIt(event) === true) this.#awaited.resolve();
  }
}

/** The connection broke, or there was no server; anything else is an error. */
function isLost(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ECONNRESET" || code === "ECONNREFUSED" || code === "EPIPE";
}
