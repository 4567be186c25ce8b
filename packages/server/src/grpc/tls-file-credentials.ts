import type { SecureContextOptions } from "node:tls";
import { ServerCredentials } from "@grpc/grpc-js";
import type { TlsFiles } from "../auth/tls-files.js";

/**
 * TLS credentials from the same files as HTTPS, updated when the files are renewed. grpc-js uses an update for new connections. Its
 * own file watcher is not used, because it could load a new certificate with the old key.
 */
export class TlsFileCredentials extends ServerCredentials {
  readonly #unfollow: () => void;

  constructor(files: TlsFiles, handshakeMs: number) {
    const { requestCert = false, rejectUnauthorized = false, ...context } = files.serverOptions();
    // A client certificate is requested and not required: tokens come without one.
    super({ requestCert, rejectUnauthorized, handshakeTimeout: handshakeMs }, context);
    this.#unfollow = files.onChange(() => this.updateSecureContextOptions(contextOf(files)));
  }

  close(): void {
    this.#unfollow();
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function contextOf(files: TlsFiles): SecureContextOptions {
  const { requestCert: _, rejectUnauthorized: __, ...context } = files.serverOptions();
  return context;
}
