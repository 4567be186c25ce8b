import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * A TCP relay in front of a server that can lose things: `loseAnswers` lets requests through and swallows what comes
 * back; `delayAnswers` holds what comes back for some time; `holdRequests` keeps requests on their way until `release`, also
 * if their sender is gone by then; `cut` breaks every connection, and refuses new ones until `mend`.
 */
export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #mode: "relay" | "lose-answers" | "refuse" = "relay";
  #delayMs = 0;
  /** What to do at `release`; `null` if requests pass. */
  #held: (() => void)[] | null = null;
  #hasHeld: () => void = () => {};

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

  /** Resolves when the first request is held. */
  holdRequests(): Promise<void> {
    this.#held = [];
    return new Promise((resolve) => {
      this.#hasHeld = resolve;
    });
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const deliver of held) deliver();
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
        if (socket === near && this.#held !== null) return;
        this.#pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
    near
      .on("data", (chunk) => this.#pass(() => far.write(chunk)))
      .once("end", () => {
        // A server does not answer a request whose connection has ended already.
        if (this.#held === null) far.end();
        else far.once("data", () => far.end());
      });
    far
      .on("data", (chunk) => this.#later(() => this.#answer(near, chunk)))
      .once("end", () => this.#later(() => near.end()));
  }

  #pass(deliver: () => void): void {
    if (this.#held === null) return deliver();
    this.#held.push(deliver);
    this.#hasHeld();
  }

  #answer(near: Socket, chunk: Buffer): void {
    if (!near.destroyed && this.#mode !== "lose-answers") near.write(chunk);
  }

  #later(deliver: () => void): void {
    if (this.#delayMs === 0) deliver();
    else setTimeout(deliver, this.#delayMs);
  }
}
