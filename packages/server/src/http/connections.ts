import type { Socket } from "node:net";
import { type Clock, onAbort } from "@tenure/core";
import type { FastifyInstance } from "fastify";

/** For a request that is on its way when the server stops. */
const GRACE_MS = 500;

export interface ConnectionParts {
  readonly isTls: boolean;
  readonly clock: Clock;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/**
 * Connections that have not sent a request. Node does not count these as idle, and during a TLS handshake does not know them
 * at all, so each of them would hold up a server that stops. Clients open connections ahead of need, so they are normal.
 */
export function guardConnections(app: FastifyInstance, { isTls, clock, stopping }: ConnectionParts): void {
  const { server } = app;
  const unused = new Set<Socket>();
  server.on(isTls ? "secureConnection" : "connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
    if (stopping.aborted) socket.setTimeout(GRACE_MS);
  });
  server.on("request", ({ socket }: { readonly socket: Socket }) => {
    if (unused.delete(socket) && stopping.aborted) socket.setTimeout(0);
  });
  const handshakes = isTls ? followHandshakes(app) : null;
  onAbort(stopping, () => {
    for (const socket of unused) socket.setTimeout(GRACE_MS);
    clock.after(GRACE_MS, () => {
      for (const socket of handshakes?.values() ?? []) socket.destroy();
    });
  });
}

/** The connections whose TLS handshake is not finished, by the address of the client. */
function followHandshakes({ server }: FastifyInstance): ReadonlyMap<string, Socket> {
  const handshakes = new Map<string, Socket>();
  server.on("connection", (socket: Socket) => {
    const client = addressOf(socket);
    handshakes.set(client, socket);
    socket.once("close", () => {
      if (handshakes.get(client) === socket) handshakes.delete(client);
    });
  });
  server.on("secureConnection", (socket: Socket) => handshakes.delete(addressOf(socket)));
  // First of all listeners: an error answered in HTTP would wait for the end of a handshake that never comes.
  server.prependListener("tlsClientError", (_: Error, socket: Socket) => socket.destroy());
  return handshakes;
}

/** The TLS socket and the TCP socket below it have the same. */
function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
