import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * A TCP relay in front of a server that can lose things: `loseAnswers` lets requests through and swallows what comes
 * back; `delayAnswers` holds what comes back for some time; `cut` breaks every connection, and refuses new ones until
 * `mend`.
 */
export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #mode: "relay" | "lose-answers" | "refuse" = "relay";
  #delayMs = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: { readonly host: string; readonly port: number }): Promise<FaultProxy> {
    const server = createServer({ allowHalfOpen: true });
    const proxy = new FaultProxy(server);
    server.on("connection", (near) => proxy.#join(near, target));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  loseAnswers(): void {
    this.#mode = "lose-answers";
  }

  /** From now on, for 0 no more. */
  delayAnswers(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  cut(): void {
    this.#mode = "refuse";
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  mend(): void {
    this.#mode = "relay";
  }

  async close(): Promise<void> {
    this.cut();
    if (this.#server.listening) await once(this.#server.close(), "close");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #join(near: Socket, target: { readonly host: string; readonly port: number }): void {
    if (this.#mode === "refuse") {
      near.destroy();
      return;
    }
    const far = connect({ ...target, allowHalfOpen: true, noDelay: true });
    near.setNoDelay(true);
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const socket of pair) {
      // What one side loses, the other is told by the end of its own connection.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    near.on("data", (chunk) => far.write(chunk)).once("end", () => far.end());
    far.on("data", (chunk) => this.#answer(near, chunk)).once("end", () => near.end());
  }

  #answer(near: Socket, chunk: Buffer): void {
    const write = (): void => void (near.destroyed || this.#mode === "lose-answers" || near.write(chunk));
    if (this.#delayMs === 0) write();
    else setTimeout(write, this.#delayMs);
  }
}
