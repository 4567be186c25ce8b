import type { SecureContextOptions } from "node:tls";
import { ServerCredentials } from "@grpc/grpc-js";
import type { TlsFiles } from "../auth/tls-files.js";

/**
 * TLS with the files that HTTPS has, followed as they are renewed. grpc-js gives what it is told here to its server for the
 * connections that begin later; its own file watcher would take half of a renewed pair.
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
