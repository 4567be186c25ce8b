import type { Socket } from "node:net";
import type { Clock } from "@tenure/core";
import { onAbort } from "@tenure/core/internal";
import type { FastifyInstance } from "fastify";
import { HelloGate } from "../limits/hello-gate.js";

/** Time limit of a request that is arriving when the server stops. */
const GRACE_MS = 500;

export interface ConnectionDeps {
  readonly isTls: boolean;
  /** A TLS handshake that is not finished in this time is cut off. */
  readonly handshakeMs: number;
  readonly clock: Clock;
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/**
 * Connections that have not sent a request. Node does not count these as idle, and during a TLS handshake does not know them
 * at all, so each of them would hold up a server that stops. Clients open connections ahead of need, so they are normal.
 */
export function guardConnections(app: FastifyInstance, deps: ConnectionDeps): void {
  const { isTls, clock, stopping } = deps;
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
  const unfinished = isTls ? gateHandshakes(app, deps) : () => [];
  onAbort(stopping, () => {
    for (const socket of unused) socket.setTimeout(GRACE_MS);
    clock.after(GRACE_MS, () => {
      for (const socket of unfinished()) socket.destroy();
    });
  });
}

/** Passes a connection to TLS when its first record has arrived. Returns a function that lists connections without a finished handshake. */
function gateHandshakes(
  { server }: FastifyInstance,
  { clock, handshakeMs }: ConnectionDeps,
): () => readonly Socket[] {
  /** By the address of the client. */
  const handshakes = new Map<string, Socket>();
  const [beginTls] = server.listeners("connection");
  if (beginTls === undefined) throw new Error("a TLS server without a listener for its connections");
  const gate = new HelloGate({
    clock,
    limitMs: handshakeMs,
    pass: (socket) => {
      const client = addressOf(socket);
      handshakes.set(client, socket);
      socket.once("close", () => {
        if (handshakes.get(client) === socket) handshakes.delete(client);
      });
      beginTls.call(server, socket);
    },
  });
  server.off("connection", beginTls as (socket: Socket) => void);
  server.on("connection", (socket: Socket) => gate.add(socket));
  server.on("secureConnection", (socket: Socket) => handshakes.delete(addressOf(socket)));
  // First of all listeners: an error answered in HTTP would wait for the end of a handshake that never comes.
  server.prependListener("tlsClientError", (_: Error, socket: Socket) => socket.destroy());
  return () => [...gate.waiting, ...handshakes.values()];
}

/** The same for a TLS socket and the TCP socket below it. */
function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
