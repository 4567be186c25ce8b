import { connect } from "node:http2";
import { onAbort } from "@tenure/core/internal";
import type { TlsCertificates } from "../tls-files.js";

/**
 * Resolves when a server speaks HTTP/2 at the endpoint. Rejects with the reason if none does, and then nothing is left open.
 * The gRPC library has no timeout for connecting, and an attempt that it has begun cannot be cancelled: one to a machine
 * that is gone would keep the process alive, and each to a member that hangs would stay open.
 */
export function probeHttp2(
  endpoint: string,
  tls: TlsCertificates | null,
  signal: AbortSignal,
): Promise<void> {
  const session = connect(`${tls === null ? "http" : "https"}://${endpoint}`, tls ?? {});
  let stopListening = (): void => {};
  const answered = new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    stopListening = onAbort(signal, abort);
    session.once("remoteSettings", () => resolve());
    // A refused client certificate is reported to the socket, not to the session.
    session.once("connect", (_, socket) => socket.on("error", reject));
    session.once("close", () => reject(new Error("the connection was closed at once")));
    // More errors may follow the first; without a listener they would end the process.
    session.on("error", reject);
  });
  return answered.finally(() => {
    stopListening();
    session.destroy();
  });
}
