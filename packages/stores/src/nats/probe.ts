import { connect, type Socket } from "node:net";

/**
 * The first of the servers (`host:port`) that speaks; rejects if none does within `limitMs`. All are tried at once, so one that
 * hangs costs no time. The library must not see such a server: it gives up on one that accepts and is silent, but never
 * closes the socket (3.4).
 */
export async function firstToSpeak(servers: readonly string[], limitMs: number): Promise<string> {
  const sockets: Socket[] = [];
  try {
    return await Promise.any(
      servers.map((server) => {
        const socket = dial(server);
        sockets.push(socket);
        return spoken(socket, limitMs).then(() => server);
      }),
    );
  } catch (error) {
    const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
    throw first;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function dial(server: string): Socket {
  const [, host = "", port] = /^(.*):(\d+)$/.exec(server) ?? [];
  return connect({ host: host.replace(/^\[|\]$/g, ""), port: Number(port) });
}

/** A server of NATS speaks first. */
function spoken(socket: Socket, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`silent for ${limitMs} ms`)), limitMs);
    socket
      .once("data", () => resolve())
      .once("error", reject)
      .once("close", () => {
        clearTimeout(timer);
        reject(new Error("the connection was closed"));
      });
  });
}
