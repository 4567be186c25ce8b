import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** For a request that is on its way when the server stops. */
const GRACE_MS = 500;

/**
 * Clients open connections ahead of need. Node does not count one that has never asked anything as idle, so it would hold
 * up a server that stops for as long as the server has patience.
 */
export function dropUnusedConnections(app: FastifyInstance, isTls: boolean, stopping: AbortSignal): void {
  const unused = new Set<Socket>();
  app.server.on(isTls ? "secureConnection" : "connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  app.server.on("request", ({ socket }: { readonly socket: Socket }) => {
    if (unused.delete(socket) && stopping.aborted) socket.setTimeout(0);
  });
  stopping.addEventListener("abort", () => {
    for (const socket of unused) socket.setTimeout(GRACE_MS);
  });
}
