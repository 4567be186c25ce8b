import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { ChannelCredentials } from "@grpc/grpc-js";
import { InvalidRequestError } from "@tenure/core";
import type { TlsFiles } from "./options.js";
import type { Protocol } from "./protocol.js";

export type TlsCertificates = Readonly<Partial<Record<keyof TlsFiles, Buffer>>>;

/** Read anew for each connection, so that they may be replaced while the store is open. */
export async function readCertificates(files: TlsFiles): Promise<TlsCertificates> {
  const certificates: Partial<Record<keyof TlsFiles, Buffer>> = {};
  for (const [name, path] of Object.entries(files) as [keyof TlsFiles, string][]) {
    try {
      certificates[name] = await readFile(path);
    } catch (cause) {
      throw new InvalidRequestError(name, `names ${path}, which cannot be read`, { cause });
    }
  }
  try {
    createSecureContext(certificates);
  } catch (cause) {
    throw new InvalidRequestError("tls", "has files that are not in PEM, or a cert that is not of the key", {
      cause,
    });
  }
  return certificates;
}

export function channelCredentials({ grpc }: Protocol, tls: TlsCertificates | null): ChannelCredentials {
  if (tls === null) return grpc.credentials.createInsecure();
  return grpc.credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}
