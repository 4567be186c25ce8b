import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ServerAddress } from "../../server-url.js";
import { readTlsFiles, type TlsFiles } from "../../tls-files.js";

/** A connected socket, encrypted if `tls` is given. Rejects with the error of the network, or with the signal's reason. */
export async function openSocket(
  { host, port }: ServerAddress,
  tls: TlsFiles | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const secrets = tls === undefined ? undefined : await readTlsFiles(tls);
  signal.throwIfAborted();
  const socket =
    secrets === undefined
      ? connect({ host, port, noDelay: true })
      : connectTls({ host, port, ...secrets, ...(isIP(host) === 0 ? { servername: host } : {}) });
  try {
    await once(socket, secrets === undefined ? "connect" : "secureConnect", { signal });
  } catch (error) {
    socket.on("error", () => undefined).destroy();
    signal.throwIfAborted();
    throw error;
  }
  return socket.setNoDelay(true);
}
