/** The port of gRPC. The listener of grpc-js is not used, because it neither limits connections nor closes unfinished handshakes. */
import { once } from "node:events";
import { lookup } from "node:dns/promises";
import { type AddressInfo, createServer, isIP, type Server, type Socket } from "node:net";
import type { ConnectionLimit } from "../limits/connection-limit.js";
import type { Address } from "../parsed-options.js";

/** Length of the queue of connections to accept, as far as the system allows. */
const MAX_BACKLOG = 4096;

export class GrpcListener {
  readonly port: number;
  readonly #servers: readonly Server[];
  readonly #sockets: ReadonlySet<Socket>;
  readonly #callers: ReadonlySet<string>;

  private constructor(
    port: number,
    servers: readonly Server[],
    sockets: ReadonlySet<Socket>,
    callers: ReadonlySet<string>,
  ) {
    this.port = port;
    this.#servers = servers;
    this.#sockets = sockets;
    this.#callers = callers;
  }

  /** A name such as `localhost` may have several addresses: all of them are served that can be. */
  static async open(
    { host, port }: Address,
    { connections, callers }: { connections: ConnectionLimit; callers: Set<string> },
    onConnection: (socket: Socket) => void,
  ): Promise<GrpcListener> {
    const sockets = new Set<Socket>();
    const servers: Server[] = [];
    const failures: unknown[] = [];
    let bound = port;
    for (const address of await addressesOf(host)) {
      const server = createServer((socket) => {
        sockets.add(socket);
        const peer = peerOf(socket);
        socket.once("close", () => {
          sockets.delete(socket);
          callers.delete(peer);
        });
        onConnection(socket);
      });
      connections.guard(server);
      try {
        await once(server.listen({ host: address, port: bound, backlog: MAX_BACKLOG }), "listening");
        servers.push(server);
        bound = (server.address() as AddressInfo).port;
      } catch (error) {
        failures.push(error);
      }
    }
    if (servers.length === 0) throw failures[0];
    return new GrpcListener(bound, servers, sockets, callers);
  }

  /** Accepts no more connections. */
  stop(): void {
    for (const server of this.#servers) server.close();
  }

  /** Cuts off connections that no call came over, such as those that have not finished their handshake; resolves when all have closed. */
  async drained(): Promise<void> {
    await Promise.all(
      Array.from(this.#sockets, async (socket) => {
        const closed = new Promise((resolve) => socket.once("close", resolve));
        if (!this.#callers.has(peerOf(socket))) socket.destroy();
        await closed;
      }),
    );
  }

  /** Cuts off what is still connected. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** As `getPeer` of a call returns it. */
function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
