import type { Scratch } from "./scratch.test-kit.js";
import type { ServerProcess } from "./server-process.test-kit.js";

/** A service on one directory and one port, across its restarts. */
export class RestartedServer {
  readonly #scratch: Scratch;
  readonly #store: string;
  #current: Promise<ServerProcess>;
  #port = 0;

  private constructor(scratch: Scratch, store: string) {
    this.#scratch = scratch;
    this.#store = store;
    this.#current = this.#start();
  }

  static async start(scratch: Scratch, directory: string): Promise<RestartedServer> {
    const server = new RestartedServer(scratch, `embedded:${directory}`);
    server.#port = (await server.#current).port;
    return server;
  }

  get port(): number {
    return this.#port;
  }

  /** Resolves when it is up: at once, or after the restart. */
  async up(): Promise<number> {
    return (await this.#current).port;
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    return (await this.#current).end(signal);
  }

  /** `kill -9`, and another on the same directory and port. Callers of `up` wait for it meanwhile. */
  async killAndRestart(): Promise<void> {
    const old = this.#current;
    this.#current = old.then((server) => server.end("SIGKILL")).then(() => this.#start());
    await this.#current;
  }

  /** Repeats until it is answered: a request whose answer was lost is sent again when the server is back. */
  async ask<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.up();
      try {
        return await work();
      } catch (error) {
        const { code } = error as { code?: string };
        if (code !== "ECONNRESET" && code !== "ECONNREFUSED" && code !== "EPIPE") throw error;
      }
    }
  }

  #start(): Promise<ServerProcess> {
    const listen = `127.0.0.1:${this.#port}`;
    return this.#scratch.serve(["--listen", listen, "--store", this.#store, "--log-level", "warn"]);
  }
}
