import { connect } from "node:http2";
import type { TlsCertificates } from "./tls.js";

/**
 * Resolves when somebody speaks HTTP/2 at that endpoint; rejects with why not, and then nothing is left open. The gRPC
 * library has no limit for connecting, and a connection that it has begun cannot be given up: one to a machine that is
 * gone would keep the process alive, and each to a member that hangs would stay.
 */
export function greet(endpoint: string, tls: TlsCertificates | null, signal: AbortSignal): Promise<void> {
  const session = connect(`${tls === null ? "http" : "https"}://${endpoint}`, tls ?? {});
  const greeted = new Promise<void>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    session.once("remoteSettings", () => resolve());
    // That our certificate is refused the session is not told, only its socket.
    session.once("connect", (_, socket) => socket.on("error", reject));
    session.once("close", () => reject(new Error("the connection was closed at once")));
    // More may follow the first, and none may be left unheard.
    session.on("error", reject);
  });
  return greeted.finally(() => session.destroy());
}
