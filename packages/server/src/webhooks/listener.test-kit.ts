/** A receiver of webhooks: a real HTTP server whose answers a test chooses. */
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { later } from "../http/service.test-kit.js";

export interface Received {
  readonly body: { readonly id: string; readonly type: string; readonly [field: string]: unknown };
  readonly text: string;
  readonly signature: string;
}

export class Listener {
  readonly received: Received[] = [];
  /** The status of the next answers; `null`: no answer. 200 when the list is empty. */
  readonly answers: (number | null)[] = [];
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(port = 0): Promise<Listener> {
    const server = createServer();
    const listener = new Listener(server);
    server.on("request", (request, response) => {
      void text(request).then((body) => {
        const signature = String(request.headers["tenure-signature"]);
        listener.received.push({ body: JSON.parse(body) as Received["body"], text: body, signature });
        for (const wake of listener.#waiting) wake();
        const status = listener.answers.length === 0 ? 200 : listener.answers.shift();
        if (typeof status === "number") response.writeHead(status).end();
      });
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    later(async () => {
      server.closeAllConnections();
      await once(server.close(), "close");
    });
    return listener;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Resolves when a message was received that satisfies the condition. */
  async until(isIt: (received: Received) => boolean): Promise<Received> {
    for (;;) {
      const found = this.received.find(isIt);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }
}

/** As docs/OPERATIONS.md tells receivers to verify. */
export function isSignedBy(secret: string, { text: body, signature }: Received): boolean {
  const [, time = "", mac = ""] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  return createHmac("sha256", secret).update(`${time}.${body}`).digest("hex") === mac;
}
